// When an agent takes a job for one that no step follows.
// SPDX-License-Identifier: Apache-2.0
#include "agent/lease_watch.h"

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "agent/role.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

// A Lease of half an hour, whose API server has a clock of its own.
struct Pod {
  explicit Pod(bool expected = false) : lease_of_task{30min} {
    lease_of_task.expected = expected;
    begin();
  }
  plan::TaskLease lease_of_task;
  Harness h;
  Duration ahead{0};  // the cluster's clock
  std::optional<Time> renewed = h.loop.now();
  std::optional<Reply> instead;
  std::vector<std::string> told, lapsed;
  int reads = 0;
  std::unique_ptr<LeaseWatch> watch;

  void begin() {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      CHECK(asked.request.url.path == "/base/apis/coordination.k8s.io/v1/namespaces/there/leases/digits-1");
      ++reads;
      auto reply = instead.value_or(lease());
      const auto time = std::chrono::system_clock::to_time_t(h.loop.now() + ahead);
      char text[64];
      std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&time));
      if (reply.status != 0) reply.headers.push_back({"Date", text});
      return reply;
    });
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "api", 6443, "/base", {}};
    credentials->token = std::make_unique<CountingTokens>();
    credentials->name_space = "there";
    watch = std::make_unique<LeaseWatch>(LeaseWatch::Context{h.loop, h.server, 1, [this](const auto& line) { told.push_back(line); },
                                                             [this](const auto& why) { lapsed.push_back(why); }},
                                         credentials, "digits-1", lease_of_task);
  }
  [[nodiscard]] Reply lease() const {
    Json spec = {{"leaseDurationSeconds", 1800}};
    auto text = to_rfc3339(*renewed + ahead);
    text.replace(text.size() - 1, 1, ".000000Z");
    spec["renewTime"] = text;
    return Reply::text(to_text({{"kind", "Lease"}, {"metadata", {{"name", "digits-1"}}}, {"spec", spec}}));
  }
};

}  // namespace

TEST_CASE_METHOD(Pod, "a program goes on while its step renews the Lease, whatever the clocks of the nodes say") {
  ahead = GENERATE(0min, -5h, 5h);
  for (int i = 0; i < 24; ++i) {
    h.loop.run(10min);
    renewed = h.loop.now();
  }
  CHECK(lapsed.empty());
  CHECK(reads <= 48);  // twelve an hour
}

TEST_CASE_METHOD(Pod, "a Lease that is not renewed ends the program once two reads have seen that it has run out") {
  ahead = GENERATE(0min, 3h);
  const auto until = to_rfc3339(*renewed + ahead + 30min);
  h.loop.run(34min);
  CHECK(lapsed.empty());
  h.loop.run(12min);  // from the last read on
  CHECK(lapsed == std::vector<std::string>{"no step follows this job: its Lease digits-1 was not renewed by " + until});
  h.loop.run(2h);
  CHECK(lapsed.size() == 1);
}

TEST_CASE_METHOD(Pod, "an API server that does not answer decides nothing, and after it its step has time to renew the Lease") {
  instead = GENERATE(Reply::lost(), Reply::text("not ready", 503), refusal(401, "Unauthorized", "Unauthorized"));
  h.loop.run(10h);
  CHECK(lapsed.empty());
  instead.reset();
  h.loop.run(5min);
  renewed = h.loop.now();
  h.loop.run(20min);
  CHECK(lapsed.empty());
}

TEST_CASE_METHOD(Pod, "a Lease that is absent or may not be read decides nothing; only the second is said, once") {
  const bool forbidden = GENERATE(true, false);
  instead = forbidden ? refusal(403, "Forbidden", "no right") : absent("digits-1");
  h.loop.run(5h);
  CHECK(lapsed.empty());
  REQUIRE(told.size() == (forbidden ? 1 : 0));
  if (forbidden) CHECK_THAT(told[0], Contains("if the step that follows this job vanishes, nothing ends the training"));
}

TEST_CASE("a Lease that is absent although its step may create it ends the program once its length has passed") {
  Pod pod(true);
  pod.instead = absent("digits-1");
  SECTION("its step was lost before it could create it") {
    pod.h.loop.run(34min);
    CHECK(pod.lapsed.empty());
    pod.h.loop.run(12min);
    CHECK(pod.lapsed == std::vector<std::string>{"no step follows this job: there is no Lease digits-1 after 30 min 00 s"});
  }
  SECTION("its step creates it later") {
    pod.h.loop.run(20min);
    pod.instead.reset();
    for (int i = 0; i < 24; ++i) {
      pod.renewed = pod.h.loop.now();
      pod.h.loop.run(10min);
    }
    CHECK(pod.lapsed.empty());
  }
  SECTION("something else answers") {
    pod.instead = GENERATE(gateways_404(), refusal(403, "Forbidden", "no right"), Reply::lost(), refusal(401, "Unauthorized", "Unauthorized"));
    pod.h.loop.run(5h);
    CHECK(pod.lapsed.empty());
  }
}

TEST_CASE("a Lease that does not say until when it holds decides nothing") {
  CHECK(held_until({{"spec", {{"renewTime", "2026-03-01T10:00:00.000000Z"}, {"leaseDurationSeconds", 60}}}}) == from_rfc3339("2026-03-01T10:01:00Z"));
  for (const auto& odd : {Json(), Json::array(), Json{{"spec", 1}}, Json{{"spec", {{"renewTime", "today"}, {"leaseDurationSeconds", 60}}}},
                          Json{{"spec", {{"renewTime", "2026-03-01T10:00:00Z"}, {"leaseDurationSeconds", "60"}}}}})
    CHECK_FALSE(held_until(odd));
}

TEST_CASE("one pod of a training looks at its Lease: the primary's, each of those that share nothing, mpirun's instead of its ranks'") {
  CHECK(watches_lease(Role::primary, true, ""));
  CHECK_FALSE(watches_lease(Role::replica, false, ""));
  CHECK(watches_lease(Role::indexed, false, "3"));
  CHECK_FALSE(watches_lease(Role::rank, true, ""));
}
