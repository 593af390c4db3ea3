// SPDX-License-Identifier: Apache-2.0
#include "process/signals.h"

#include <csignal>
#include <vector>

#include "run_until.h"
#include "support/catch.h"

namespace trainstep::process {
namespace {

TEST_CASE("stop signals arrive as events with their number") {
  PollLoop loop;
  std::vector<int> received;
  const Signals signals(loop, [&](int signal) { received.push_back(signal); });
  ::raise(SIGTERM);
  run_until(loop, [&] { return received.size() == 1; });
  ::raise(SIGINT);
  run_until(loop, [&] { return received.size() == 2; });
  CHECK(received == std::vector{SIGTERM, SIGINT});
}

TEST_CASE("a signal that was ignored from the start stays ignored") {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  PollLoop loop;
  std::vector<int> received;
  {
    const Signals signals(loop, [&](int signal) { received.push_back(signal); });
    ::raise(SIGHUP);
    ::raise(SIGTERM);
    run_until(loop, [&] { return !received.empty(); });
  }
  ::signal(SIGHUP, before);
  CHECK(received == std::vector{SIGTERM});
}

}  // namespace
}  // namespace trainstep::process
