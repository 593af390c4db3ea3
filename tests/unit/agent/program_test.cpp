// Real programs as the agent's children.
// SPDX-License-Identifier: Apache-2.0
#include "agent/program.h"

#include <csignal>
#include <string>

#include "process/descendants.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;

namespace {

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

Result<ProgramEnd> run(const std::vector<std::string>& argv) {
  PollLoop loop;
  return run_program(loop, argv, process::own_environment());
}

}  // namespace

TEST_CASE("the program's exit code is kept; that of a signal is 128 and its number") {
  CHECK(run(shell("exit 0"))->succeeded());
  CHECK(run(shell("exit 3"))->code == 3);
  CHECK(run(shell("exit 255"))->code == 255);
  CHECK(run(shell("kill -9 $$"))->code == 128 + SIGKILL);
  CHECK(run(shell("kill -TERM $$"))->code == 128 + SIGTERM);
}

TEST_CASE("a program that is not there is an error that names it") {
  const auto end = run({"/no/such/program"});
  REQUIRE_FALSE(end);
  CHECK_THAT(end.error().message, Catch::Contains("/no/such/program"));
}

TEST_CASE("signals to the agent are forwarded to the program, which may handle them") {
  // The program sends them to the agent, its parent, and waits until they come back.
  for (const auto* signal : {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"}) {
    CAPTURE(signal);
    const auto end = run(shell(std::string("trap 'exit 7' ") + signal + "; kill -" + signal + " $PPID; while :; do sleep 0.01; done"));
    REQUIRE(end);
    CHECK(end->code == 7);
  }
}

TEST_CASE("the end of a program that is killed is seen, with what it has started") {
  process::become_subreaper();
  PollLoop loop;
  const auto kill = loop.timer(Duration(300), kill_program);
  const auto give_up = loop.timer(Duration(20'000), [&] { loop.stop(); });  // its end was not seen
  const auto end = run_program(loop, shell("trap '' TERM; sleep 100 & setsid sleep 100 & sleep 100; exit 0"), process::own_environment());
  REQUIRE(end);
  CHECK(end->code == 128 + SIGKILL);
  CHECK(end->survivors.empty());
}

TEST_CASE("the output of a command is returned, or an error if it fails or prints too much") {
  PollLoop loop;
  const auto said = [&](const std::vector<std::string>& argv, std::size_t limit = 1'000) {
    return output_of(loop, argv, process::own_environment(), limit);
  };
  CHECK(said(shell("echo one; echo other >&2; printf two")) == "one\ntwo\n");
  CHECK(said(shell("exit 0")) == "");
  CHECK_FALSE(said(shell("echo one; exit 1")));
  CHECK_FALSE(said({"/no/such/program"}));
  CHECK(said(shell("echo 1234"), 5) == "1234\n");
  CHECK_FALSE(said(shell("echo 12345"), 5));
  CHECK_FALSE(said(shell("yes | head -c 300000"), 5));
  CHECK(said(shell("exit 4")).error().message == "sh exited with code 4");
  CHECK(said(shell("echo first >&2; echo 'the reason' >&2; echo >&2; exit 4")).error().message == "the reason");
  CHECK_THAT(said({"/no/such/program"}).error().message, Catch::Contains("/no/such/program"));
}
