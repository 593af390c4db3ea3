// SPDX-License-Identifier: Apache-2.0
#include "follow/describe.h"

#include <csignal>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::follow;

namespace {

Rules two() {
  Rules rules;
  rules.members = {{.name = "master-0", .primary = true}, {.name = "worker-0"}};
  return rules;
}

std::string described(decltype(Event::what) what, const std::vector<Action>& actions) {
  return describe_decision({Time{}, std::move(what)}, actions, two());
}

}  // namespace

TEST_CASE("a decision is described with its reason: the event, and every action") {
  CHECK(described(StopRequested{SIGTERM}, {LogMessage{"SIGTERM received"}, StopMember{0, Duration(30'000)}, StopMember{1, Duration(30'000)},
                                           SetTimer{5, Duration(45'000)}}) ==
        "stop_requested {\"signal\":15}: stop master-0 within 30 s; stop worker-0 within 30 s; timer 5 in 45 s");
  CHECK(described(Prepared{}, {StartMember{1, 0}}) == "prepared: start worker-0, attempt 0");
  CHECK(described(PodsListed{}, {Finish{{result::VerdictClass::succeeded, "", std::nullopt, false, 0}}}) == "pods_listed: finish: succeeded");
}

TEST_CASE("an action that only displays something is not a decision") {
  CHECK(described(MemberOutput{0, "a line\n"}, {ShowOutput{0, "a line\n"}, ShowProgress{1, 2}}).empty());
  CHECK(described(PodsListed{}, {}).empty());
}

TEST_CASE("a decision's reason holds no secrets and is no longer than a few lines") {
  const auto text = described(ServerTrouble{"https://me:hunter22@host: Bearer abcdefghijkl " + std::string(5000, 'x')}, {Refresh{}});
  CHECK(text.find("hunter22") == std::string::npos);
  CHECK(text.find("abcdefghijkl") == std::string::npos);
  CHECK(text.size() < 800);
  CHECK(text.ends_with(" …: list the job and its pods"));
}

TEST_CASE("a short limit is written with its value") {
  CHECK(describe_limit(Duration(1)) == "1 ms");
  CHECK(describe_limit(Duration(99)) == "99 ms");
  CHECK(describe_limit(Duration(100)) == "0.1 s");
  CHECK(describe_limit(Duration(7'200'000)) == "2 h 00 min");
}
