// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_plugin.h"

#include <chrono>
#include <csignal>
#include <string>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::kube;
using Catch::Contains;

namespace {

ExecPlugin shell(const std::string& script) {
  ExecPlugin plugin;
  plugin.command = "/bin/sh";
  plugin.arguments = {"-c", script};
  return plugin;
}

}  // namespace

TEST_CASE("a plug-in that does not end is killed with what it started when its time is over") {
  const auto printed = run_exec_plugin(shell("sleep 3600 & sleep 3600"), Duration(50));
  REQUIRE_FALSE(printed);
  CHECK(printed.error().kind == ErrorKind::denied);
  CHECK_THAT(printed.error().message, Contains("'/bin/sh'") && Contains("did not end within") && Contains("killed"));
}

TEST_CASE("a daemon that a plug-in leaves behind, with its output open, is not waited for") {
  const auto begin = std::chrono::steady_clock::now();
  const auto printed = run_exec_plugin(shell("sleep 30 & echo $!"), Duration(20'000));
  REQUIRE(printed);
  CHECK(::kill(std::stoi(*printed), SIGKILL) == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("an answer longer than a pipe holds comes whole") {
  const auto printed = run_exec_plugin(shell("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done"));
  REQUIRE(printed);
  CHECK(printed->size() == 3000 * 41);
}
