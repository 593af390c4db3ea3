#include "follow/gang_run_state.h"

#include <csignal>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::follow;
using result::VerdictClass;

namespace {

const Time start{std::chrono::hours(1000)};

// Feeds events and keeps the orders that came of them.
struct Story {
  explicit Story(Rules rules) : follower(std::move(rules)) { keep(follower.begin(now)); }

  void keep(std::vector<Action> actions) {
    for (auto& action : actions) orders.push_back(std::move(action));
  }
  template <typename What>
  void event(What what) {
    now += Duration(1000);
    keep(follower.handle({now, std::move(what)}));
  }
  void all_started() {
    event(Prepared{});
    for (MemberIndex i = 0; i < follower.rules().members.size(); ++i)
      if (follower.rules().members[i].started) event(MemberStarted{i, "pid 1"});
  }
  void ended(MemberIndex member, int code) { event(MemberEnded{member, {code, std::nullopt, ""}}); }
  void killed(MemberIndex member, int signal) { event(MemberEnded{member, {0, signal, ""}}); }

  template <typename Order>
  std::vector<Order> all() const {
    std::vector<Order> found;
    for (const auto& action : orders)
      if (const auto* order = std::get_if<Order>(&action)) found.push_back(*order);
    return found;
  }
  std::vector<MemberIndex> stopped() const {
    std::vector<MemberIndex> members;
    for (const auto& order : all<StopMember>()) members.push_back(order.member);
    return members;
  }
  std::optional<result::Verdict> verdict() const {
    const auto finishes = all<Finish>();
    REQUIRE(finishes.size() <= 1);
    return finishes.empty() ? std::nullopt : std::optional(finishes.front().verdict);
  }

  Time now = start;
  GangRunState follower;
  std::vector<Action> orders;
};

Rules gang_of(std::initializer_list<Member> members) {
  Rules rules;
  rules.members = members;
  return rules;
}

const Member master{"master-0", true, true, false, true};
const Member worker{"worker-0", false, false, false, true};
const Member server{"ps-0", false, false, true, true};
const Member launcher{"launcher", false, true, false, true};
const Member rank0{"worker-0", true, false, false, false};
const Member rank1{"worker-1", false, false, false, false};

}  // namespace

TEST_CASE("every member is started once the backend is prepared, and running begins when all have started") {
  Story story(gang_of({master, worker}));
  REQUIRE(story.all<StartMember>().empty());
  story.event(Prepared{});
  CHECK(story.all<StartMember>().size() == 2);
  story.event(MemberStarted{0, "pid 1"});
  CHECK(story.follower.timeline().current() == result::Phase::starting);
  story.event(MemberStarted{1, "pid 2"});
  CHECK(story.follower.timeline().current() == result::Phase::running);
}

TEST_CASE("the job succeeds with its awaited member, after the others have ended by themselves") {
  Story story(gang_of({master, worker}));
  story.all_started();
  story.ended(0, 0);
  CHECK_FALSE(story.verdict());
  CHECK(story.stopped().empty());
  story.ended(1, 0);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
}

TEST_CASE("parameter servers are stopped as soon as the chief has succeeded, and their exit by our signal is not a failure") {
  Story story(gang_of({{"chief-0", true, true, false, true}, {"worker-0", false, false, true, true}, server}));
  story.all_started();
  story.ended(0, 0);
  CHECK(story.stopped() == std::vector<MemberIndex>{1, 2});
  story.killed(1, SIGTERM);
  story.ended(2, 143);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
}

TEST_CASE("a member that lingers after success is stopped and does not change the verdict") {
  Story story(gang_of({master, worker}));
  story.all_started();
  story.ended(0, 0);
  const auto timers = story.all<SetTimer>();
  const auto linger = std::find_if(timers.begin(), timers.end(), [&](const auto& timer) { return timer.delay == story.follower.rules().linger; });
  REQUIRE(linger != timers.end());
  story.event(TimerFired{linger->timer});
  CHECK(story.stopped() == std::vector<MemberIndex>{1});
  story.killed(1, SIGKILL);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
}

TEST_CASE("a limit for the whole step or for its end stops the members that linger after success, and does not change the verdict") {
  const bool whole = GENERATE(true, false);
  auto rules = gang_of({master, worker});
  (whole ? rules.limits.total : rules.limits.finishing) = Duration(3'000);
  Story story(rules);
  story.all_started();
  story.ended(0, 0);
  const auto timers = story.all<SetTimer>();
  const auto limit = std::find_if(timers.begin(), timers.end(), [](const auto& timer) { return timer.delay == Duration(3'000); });
  REQUIRE(limit != timers.end());
  story.event(TimerFired{limit->timer});
  CHECK(story.stopped() == std::vector<MemberIndex>{1});
  CHECK(story.all<StopMember>().front().grace == story.follower.rules().policy.stop_grace);
  CHECK(story.all<LogMessage>().back().text ==
        (whole ? "worker-0 is still running after the training succeeded, and the limit of 3.0 s for the whole step (job_options.limits.total) was "
                 "exceeded; stopping it before reading the outputs"
               : "worker-0 is still running after the training succeeded, and the limit of 3.0 s for finishing (job_options.limits.finishing) was "
                 "exceeded; stopping it before reading the outputs"));
  story.killed(1, SIGTERM);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
}

TEST_CASE("a limit for running no longer counts once the training has succeeded") {
  auto rules = gang_of({master, worker});
  rules.limits.running = Duration(3'000);
  Story story(rules);
  story.all_started();
  const auto limit = story.all<SetTimer>().back();
  REQUIRE(limit.delay == Duration(3'000));
  story.ended(0, 0);
  story.event(TimerFired{limit.timer});
  CHECK(story.stopped().empty());
}

TEST_CASE("the first member that fails is named, with the last lines of its log, and the others are stopped") {
  Story story(gang_of({master, worker}));
  story.all_started();
  story.event(MemberOutput{1, "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\nValueError: no data\n"});
  story.ended(1, 1);
  CHECK(story.stopped() == std::vector<MemberIndex>{0});
  CHECK_FALSE(story.verdict());
  story.killed(0, SIGTERM);
  const auto verdict = story.verdict();
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == VerdictClass::user);
  REQUIRE(verdict->first_failure);
  CHECK(verdict->first_failure->replica == "worker-0");
  CHECK(verdict->first_failure->exit_code == 1);
  CHECK(verdict->first_failure->reason == "ValueError: no data");
  CHECK(verdict->first_failure->last_lines.size() == 4);
}

TEST_CASE("after a failure the others get a short grace, which a shorter one of the policy's overrules") {
  auto rules = gang_of({master, worker});
  for (const auto policy : {Duration(30'000), Duration(1'000)}) {
    rules.policy.stop_grace = policy;
    Story story(rules);
    story.all_started();
    story.ended(1, 1);
    REQUIRE(story.all<StopMember>().size() == 1);
    CHECK(story.all<StopMember>().front().grace == std::min(policy, rules.failure_grace));
  }
}

TEST_CASE("a failure after the verdict changes nothing") {
  Story story(gang_of({master, worker}));
  story.all_started();
  story.killed(1, SIGKILL);
  story.ended(0, 7);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->replica == "worker-0");
  CHECK(story.verdict()->first_failure->signal == SIGKILL);
}

TEST_CASE("mpirun's report names the rank that failed first") {
  Story story(gang_of({launcher, rank0, rank1}));
  story.all_started();
  CHECK(story.all<StartMember>().size() == 1);
  story.event(MemberOutput{2, "ValueError: rank one is unwell\n"});
  story.event(MemberOutput{
      0,
      "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process "
      "to do so was:\n\n  Process name: [[62141,1],1]\n  Exit code:    3\n"});
  story.ended(0, 3);
  const auto verdict = story.verdict();
  REQUIRE(verdict);
  CHECK(verdict->first_failure->replica == "worker-1");
  CHECK(verdict->first_failure->exit_code == 3);
  CHECK(verdict->first_failure->last_lines == std::vector<std::string>{"ValueError: rank one is unwell"});
}

TEST_CASE("restarts") {
  auto rules = gang_of({master});
  rules.policy.backoff_limit = 2;

  SECTION("OnFailure starts the member again after growing pauses until the backoff limit is used up") {
    rules.policy.restart_policy = "OnFailure";
    Story story(rules);
    story.all_started();
    std::vector<Duration> pauses;
    for (int attempt = 1; attempt <= 2; ++attempt) {
      story.ended(0, 1);
      const auto timer = story.all<SetTimer>().back();
      pauses.push_back(timer.delay);
      story.event(TimerFired{timer.timer});
      CHECK(story.all<StartMember>().back().attempt == attempt);
      story.event(MemberStarted{0, "pid 1"});
    }
    CHECK(pauses == std::vector<Duration>{Duration(1000), Duration(2000)});
    story.ended(0, 1);
    REQUIRE(story.verdict());
    CHECK(story.verdict()->verdict_class == VerdictClass::user);
    CHECK(story.verdict()->message.find("2 restarts") != std::string::npos);
  }
  SECTION("a restarted member that succeeds makes the job succeed") {
    rules.policy.restart_policy = "OnFailure";
    Story story(rules);
    story.all_started();
    story.ended(0, 1);
    story.event(TimerFired{story.all<SetTimer>().back().timer});
    story.event(MemberStarted{0, "pid 2"});
    story.ended(0, 0);
    REQUIRE(story.verdict());
    CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
  }
  SECTION("ExitCode restarts after 128 and more, not after a code of the program's own") {
    rules.policy.restart_policy = "ExitCode";
    Story retryable(rules);
    retryable.all_started();
    retryable.ended(0, 137);
    CHECK_FALSE(retryable.verdict());
    Story permanent(rules);
    permanent.all_started();
    permanent.ended(0, 1);
    CHECK(permanent.verdict());
  }
  SECTION("Never does not restart whatever the backoff limit says") {
    rules.policy.restart_policy = "Never";
    Story story(rules);
    story.all_started();
    story.ended(0, 1);
    CHECK(story.verdict());
  }
  SECTION("a member that waits for its restart does not keep a cancelled job alive") {
    rules.policy.restart_policy = "OnFailure";
    Story story(rules);
    story.all_started();
    story.ended(0, 1);
    story.event(StopRequested{SIGTERM});
    REQUIRE(story.verdict());
    CHECK(story.verdict()->verdict_class == VerdictClass::cancelled);
  }
}

TEST_CASE("a stop request gives every member its grace and ends as cancelled by that signal") {
  Story story(gang_of({master, worker}));
  story.all_started();
  story.event(StopRequested{SIGTERM});
  CHECK(story.stopped() == std::vector<MemberIndex>{0, 1});
  CHECK(story.all<StopMember>().front().grace == story.follower.rules().policy.stop_grace);
  story.event(StopRequested{SIGTERM});
  CHECK(story.stopped().size() == 2);
  story.killed(0, SIGTERM);
  story.ended(1, 0);
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 143);
}

TEST_CASE("a second SIGINT ends the grace") {
  Story story(gang_of({master}));
  story.all_started();
  story.event(StopRequested{SIGINT});
  story.event(StopRequested{SIGINT});
  CHECK(story.all<StopMember>().back().grace == Duration{0});
  story.killed(0, SIGKILL);
  CHECK(exit_code(*story.verdict()) == 130);
}

TEST_CASE("a stop while others linger after success cancels the job, as before its outputs are delivered, and only a second SIGINT ends the grace") {
  const int signal = GENERATE(SIGTERM, SIGINT);
  Story story(gang_of({master, worker}));
  story.all_started();
  story.ended(0, 0);
  story.event(StopRequested{signal});
  CHECK(story.all<LogMessage>()[1].text == result::describe_stop(signal) + ": the training's outputs are not delivered");
  CHECK(story.stopped() == std::vector<MemberIndex>{1});
  CHECK(story.all<StopMember>().back().grace == story.follower.rules().policy.stop_grace);
  story.event(StopRequested{SIGINT});
  CHECK(story.all<StopMember>().back().grace == Duration{0});
  story.killed(1, SIGKILL);
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 128 + signal);
}

TEST_CASE("the first SIGINT after a failure or a limit is reported and leaves the others their grace, the second one ends it") {
  const bool limit = GENERATE(true, false);
  auto rules = gang_of({master, worker});
  rules.limits.running = Duration(3'000);
  Story story(rules);
  story.all_started();
  if (limit)
    story.event(TimerFired{story.all<SetTimer>().back().timer});
  else
    story.ended(1, 1);
  const auto stops = story.all<StopMember>().size();
  story.event(StopRequested{SIGINT});
  CHECK(story.all<LogMessage>().back().text == "SIGINT (2) received: the replicas are already being stopped; a second SIGINT kills them");
  CHECK(story.all<StopMember>().size() == stops);
  story.event(StopRequested{SIGINT});
  CHECK(story.all<StopMember>().back().grace == Duration{0});
  story.killed(0, SIGKILL);
  if (limit) story.killed(1, SIGKILL);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == (limit ? VerdictClass::timeout : VerdictClass::user));
}

TEST_CASE("limits end the job as a timeout that names the limit") {
  auto rules = gang_of({master});
  rules.limits.running = Duration(60'000);
  rules.limits.starting = Duration(30'000);
  Story story(rules);
  const auto starting = story.all<SetTimer>().front();
  CHECK(starting.delay == Duration(30'000));
  story.all_started();
  story.event(TimerFired{starting.timer});
  CHECK(story.stopped().empty());
  story.event(TimerFired{story.all<SetTimer>().back().timer});
  CHECK(story.stopped().size() == 1);
  story.killed(0, SIGTERM);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::timeout);
  CHECK(story.verdict()->message.find("job_options.limits.running") != std::string::npos);
}

TEST_CASE("the shorter one of deadline and limit for running ends the job and is named") {
  const auto [deadline, limit, named] = GENERATE(
      table<Duration, Duration, std::string>({{Duration(60'000), Duration(90'000), "1 min 00 s for running (job_options.run_policy.active_deadline)"},
                                              {Duration(90'000), Duration(60'000), "1 min 00 s for running (job_options.limits.running)"}}));
  plan::JobOptions options;
  options.run_policy.active_deadline = deadline;
  options.limits.running = limit;
  auto rules = gang_of({master});
  take_options(rules, options);
  Story story(rules);
  story.all_started();
  const auto timer = story.all<SetTimer>().back();
  CHECK(timer.delay == Duration(60'000));
  story.event(TimerFired{timer.timer});
  story.killed(0, SIGTERM);
  REQUIRE(story.verdict());
  CHECK_THAT(story.verdict()->message, Catch::Contains(named));
}

TEST_CASE("a backend that fails before anything runs ends the step with its error") {
  Story story(gang_of({master}));
  story.event(BackendFailed{input_error("no mpirun on this machine")});
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::input);
}

TEST_CASE("a member that cannot be started does not leave the others running") {
  Story story(gang_of({master, worker}));
  story.event(Prepared{});
  story.event(MemberStarted{0, "pid 1"});
  story.event(BackendFailed{input_error("nothing to start")});
  CHECK(story.stopped() == std::vector<MemberIndex>{0});
  story.killed(0, SIGTERM);
  CHECK(story.verdict());
}

TEST_CASE("a member that starts after the verdict is stopped at once") {
  Story story(gang_of({master, worker}));
  story.event(Prepared{});
  story.event(MemberStarted{0, "pid 1"});
  story.event(StopRequested{SIGTERM});
  story.event(MemberStarted{1, "pid 2"});
  CHECK(story.stopped() == std::vector<MemberIndex>{0, 1});
}

TEST_CASE("members whose end is never reported do not keep the step for ever") {
  Story story(gang_of({master}));
  story.all_started();
  story.event(StopRequested{SIGTERM});
  const auto overdue = story.all<SetTimer>().back();
  CHECK(overdue.delay > story.follower.rules().policy.stop_grace);
  story.event(TimerFired{overdue.timer});
  CHECK(story.verdict());
}

TEST_CASE("output is shown for the chosen members, read for metrics from the primary only") {
  auto rules = gang_of({master, worker});
  rules.logs = {"primary"};
  Story story(rules);
  story.all_started();
  story.event(MemberOutput{0, "epoch=1/4 loss=0.5\n"});
  story.event(MemberOutput{1, "epoch=1/4 loss=0.7\n"});
  CHECK(story.all<ShowOutput>().size() == 1);
  REQUIRE(story.all<ShowProgress>().size() == 1);
  CHECK(story.all<ShowProgress>().front().done == 1);
  CHECK(story.all<ShowProgress>().front().of == 4);
  CHECK(story.follower.metrics().latest().size() == 1);
}

TEST_CASE("metrics are those of the primary's last attempt") {
  struct Row {
    Rules rules;
    MemberIndex restarts, prints;
    std::size_t metrics;
  };
  for (auto& row : {Row{gang_of({master, worker}), 0, 0, 1}, Row{gang_of({launcher, rank0}), 0, 1, 1}, Row{gang_of({master, worker}), 1, 0, 2}}) {
    auto rules = row.rules;
    CAPTURE(rules.members[0].name, row.restarts);
    rules.policy.restart_policy = "OnFailure";
    rules.policy.backoff_limit = 1;
    Story story(rules);
    story.all_started();
    story.event(MemberOutput{row.prints, "epoch=3/4 loss=9 broken=1\n"});
    story.ended(row.restarts, 1);
    CHECK(story.follower.metrics().latest().size() == 2);
    story.event(TimerFired{story.all<SetTimer>().back().timer});
    story.event(MemberStarted{row.restarts, "pid 2"});
    story.event(MemberOutput{row.prints, "epoch=1/4 loss=0.5\n"});
    CHECK(story.follower.metrics().latest().size() == row.metrics);
    CHECK(story.follower.metrics().series().front().points.size() == row.metrics);
    CHECK(story.follower.metrics().progress().epoch == 1);
  }
}

TEST_CASE("metrics of every attempt are read as the options define them") {
  plan::JobOptions options;
  options.metrics = {{"loss", "loss is ([0-9.]+)"}};
  auto rules = gang_of({master});
  take_options(rules, options);
  rules.policy.restart_policy = "OnFailure";
  rules.policy.backoff_limit = 1;
  Story story(rules);
  story.all_started();
  story.event(MemberOutput{0, "loss=9, the loss is 0.5\n"});
  REQUIRE(story.follower.metrics().latest().size() == 1);
  CHECK(story.follower.metrics().latest().front().value == 0.5);
  story.ended(0, 1);
  story.event(TimerFired{story.all<SetTimer>().back().timer});
  story.event(MemberStarted{0, "pid 2"});
  CHECK(story.follower.metrics().latest().empty());
  story.event(MemberOutput{0, "loss=9, the loss is 0.25\n"});
  REQUIRE(story.follower.metrics().latest().size() == 1);
  CHECK(story.follower.metrics().latest().front().value == 0.25);
}

TEST_CASE("metric definitions without a match are reported once after a success") {
  auto rules = gang_of({master, worker});
  rules.metrics = {{"loss", "loss is (\\S+)"}, {"val_loss", "val loss is (\\S+)"}, {"acc", "acc is (\\S+)"}, {"epoch", "round (\\S+)"}};
  rules.policy.restart_policy = "OnFailure";
  rules.policy.backoff_limit = 1;
  Story story(rules);
  story.all_started();
  story.event(MemberOutput{0, "the loss is 0.5, val loss is 0.6, round 1\n"});
  story.ended(0, 1);
  story.event(TimerFired{story.all<SetTimer>().back().timer});
  story.event(MemberStarted{0, "pid 2"});
  story.event(MemberOutput{0, "acc is unknown\nthe loss is 0.5\n"});
  story.event(MemberOutput{1, "val loss is 0.5, round 3\n"});  // not the primary's
  const auto before = story.all<LogMessage>().size();
  const int code = GENERATE(0, 1);
  story.ended(0, code);
  story.ended(1, 0);
  REQUIRE(story.verdict());
  const auto said = story.all<LogMessage>();
  const std::vector<LogMessage> warnings(said.begin() + static_cast<std::ptrdiff_t>(before), said.end());
  if (code != 0) {
    for (const auto& each : warnings) CHECK(each.text.find("job_options") == std::string::npos);
    return;
  }
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].warning);
  CHECK(warnings[0].text == "no line matched job_options.metrics[1] (val_loss), job_options.metrics[3] (epoch)");
  CHECK(warnings[1].warning);
  CHECK(warnings[1].text == "the value matched by job_options.metrics[2] (acc) is not a number");
}

TEST_CASE("a log that is not UTF-8 is reported once, as its metrics are not read") {
  Story story(gang_of({master, worker}));
  story.all_started();
  constexpr std::string_view utf16(
      "\xff\xfel\0o\0s\0s\0=\0"
      "1\0\n\0",
      16);
  story.event(MemberOutput{1, utf16});
  CHECK(story.all<LogMessage>().size() == 1);  // "running"
  for (int i = 0; i < 2; ++i) story.event(MemberOutput{0, utf16});
  REQUIRE(story.all<LogMessage>().size() == 2);
  CHECK(story.all<LogMessage>().back().warning);
  CHECK(story.all<LogMessage>().back().text == "the program's log contains NUL characters, as UTF-16 does: metrics are read from UTF-8 only");
}

TEST_CASE("a failure after the success is reported with the last lines, and the run still succeeds") {
  Story story(gang_of({master, worker}));
  story.all_started();
  story.ended(0, 0);
  story.event(MemberOutput{1, "its last words\n"});
  story.ended(1, 9);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == result::VerdictClass::succeeded);
  std::string said;
  for (const auto& line : story.all<LogMessage>()) said += line.text + '\n';
  CHECK_THAT(said, Catch::Contains("worker-0 exited with code 9 after the training had succeeded") && Catch::Contains("  | its last words"));
}

TEST_CASE("a message of the backend is logged") {
  Story story(gang_of({master}));
  story.all_started();
  story.event(BackendMessage{"main has ended"});
  CHECK(story.all<LogMessage>().back().text == "main has ended");
}

TEST_CASE("messages of the backend during collect() are logged after the verdict") {
  Story story(gang_of({master}));
  story.all_started();
  story.ended(0, 0);
  REQUIRE(story.verdict());
  story.event(BackendMessage{"it lies elsewhere", true});
  CHECK(story.all<LogMessage>().back().text == "it lies elsewhere");
}

TEST_CASE("a long silence is reported") {
  Story story(gang_of({master}));
  story.all_started();
  int heartbeat = -1;
  for (const auto& timer : story.all<SetTimer>())
    if (timer.delay == story.follower.rules().heartbeat) heartbeat = timer.timer;
  story.now += story.follower.rules().heartbeat;
  story.event(TimerFired{heartbeat});
  REQUIRE_FALSE(story.all<LogMessage>().empty());
  CHECK(story.all<LogMessage>().back().text.find("still running after") != std::string::npos);
}
