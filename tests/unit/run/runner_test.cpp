#include "run/runner.h"

#include <csignal>

#include "support/catch.h"
#include "support/virtual_loop.h"

using namespace trainstep;
using namespace trainstep::run;

namespace {

// Members that live as long as the test says and then end as it says.
class ScriptedBackend : public Backend {
 public:
  explicit ScriptedBackend(Loop& loop) : m_loop(loop) {}
  std::vector<std::pair<Duration, follow::Termination>> lives;  // by member
  Result<std::vector<OutputFound>> found{std::vector<OutputFound>{}};
  std::vector<follow::MemberIndex> stopped;

  void prepare(Sink sink) override {
    m_sink = std::move(sink);
    m_loop.post([this] { send(follow::Prepared{}); });
  }
  void start(const follow::StartMember& order) override {
    const auto member = order.member;
    m_loop.post([this, member] { send(follow::MemberStarted{member, "here"}); });
    m_ends[member] = m_loop.timer(lives.at(member).first, [this, member] { send(follow::MemberEnded{member, lives.at(member).second}); });
  }
  void stop(const follow::StopMember& order) override {
    stopped.push_back(order.member);
    m_ends.at(order.member).cancel();
    m_loop.post([this, member = order.member] { send(follow::MemberEnded{member, {0, SIGTERM, ""}}); });
  }
  Result<std::vector<OutputFound>> collect() override { return found; }

 private:
  template <typename What>
  void send(What what) {
    m_sink({m_loop.now(), std::move(what)});
  }
  Loop& m_loop;
  Sink m_sink;
  std::map<follow::MemberIndex, Timer> m_ends;
};

struct Step {
  test::VirtualLoop loop;
  ScriptedBackend backend{loop};
  std::optional<Outcome> outcome;

  void run(follow::Rules rules, std::optional<Duration> stop_after = std::nullopt) {
    Runner runner(loop, backend, {}, std::move(rules));
    runner.begin([this](Outcome ended) { outcome = std::move(ended); });
    if (stop_after) loop.after(*stop_after, [&runner] { runner.request_stop(SIGTERM); });
    loop.run();
    REQUIRE(outcome);
  }
};

follow::Rules two_members() {
  follow::Rules rules;
  rules.members = {{"master-0", true, true, false, true}, {"worker-0", false, false, false, true}};
  return rules;
}

}  // namespace

TEST_CASE("a run that succeeds collects its outputs and reports every member") {
  Step step;
  step.backend.lives = {{Duration(60'000), {}}, {Duration(61'000), {}}};
  OutputFound model;
  model.name = "model_dir";
  step.backend.found = std::vector<OutputFound>{model};
  step.run(two_members());
  CHECK(step.outcome->verdict.verdict_class == result::VerdictClass::succeeded);
  CHECK(step.outcome->outputs.size() == 1);
  REQUIRE(step.outcome->members.size() == 2);
  CHECK(step.outcome->members[1].ending->succeeded());
  CHECK(step.outcome->ended - step.outcome->started == Duration(61'000));
  CHECK(step.outcome->timeline.spent_in(result::Phase::running, step.outcome->ended) == Duration(60'000));
}

TEST_CASE("a training whose outputs are missing has not succeeded") {
  Step step;
  step.backend.lives = {{Duration(1000), {}}, {Duration(1000), {}}};
  step.backend.found = input_error("model_dir was not written");
  step.run(two_members());
  CHECK(step.outcome->verdict.verdict_class == result::VerdictClass::user);
  CHECK(step.outcome->verdict.message.find("model_dir was not written") != std::string::npos);
}

TEST_CASE("a failure stops the others and collects nothing") {
  Step step;
  step.backend.lives = {{Duration(60'000), {}}, {Duration(5'000), {3, std::nullopt, ""}}};
  step.run(two_members());
  CHECK(step.outcome->verdict.verdict_class == result::VerdictClass::user);
  CHECK(step.backend.stopped == std::vector<follow::MemberIndex>{0});
  CHECK(step.outcome->members[0].stopped_by_us);
  CHECK(step.outcome->ended - step.outcome->started == Duration(5'000));
}

TEST_CASE("a limit ends a run on time") {
  Step step;
  step.backend.lives = {{std::chrono::hours(100), {}}, {std::chrono::hours(100), {}}};
  auto rules = two_members();
  rules.limits.running = Duration(90'000);
  step.run(rules);
  CHECK(step.outcome->verdict.verdict_class == result::VerdictClass::timeout);
  CHECK(step.outcome->ended - step.outcome->started == Duration(90'000));
}

TEST_CASE("a signal cancels a run") {
  Step step;
  step.backend.lives = {{std::chrono::hours(100), {}}, {std::chrono::hours(100), {}}};
  step.run(two_members(), Duration(7'000));
  CHECK(exit_code(step.outcome->verdict) == 143);
  CHECK(step.backend.stopped.size() == 2);
}

TEST_CASE("a lingering member is stopped after success and its outputs are still collected") {
  Step step;
  step.backend.lives = {{Duration(1000), {}}, {std::chrono::hours(100), {}}};
  step.run(two_members());
  CHECK(step.outcome->verdict.verdict_class == result::VerdictClass::succeeded);
  CHECK(step.outcome->ended - step.outcome->started == Duration(11'000));
}
