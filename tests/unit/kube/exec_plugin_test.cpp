// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_plugin.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include "kube/plugin_run.h"
#include "kube/token_source.h"
#include "support/catch.h"
#include "support/temp_dir.h"

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

// Waits until the process has written its pid to the file.
pid_t written_to(const std::string& file) {
  pid_t pid = 0;
  while (!(std::ifstream(file) >> pid)) ::usleep(1'000);
  return pid;
}

// Whether the process ends within 20 s; a zombie counts as ended.
bool ends(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto state = [pid] {
    std::string word, name;
    char found = 'X';
    std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> word >> name >> found;
    return found;
  };
  while (state() != 'X' && state() != 'Z' && std::chrono::steady_clock::now() < deadline) ::usleep(1'000);
  return state() == 'X' || state() == 'Z';
}

}  // namespace

TEST_CASE("a plug-in that hangs does not block, and is killed when its token source is destroyed") {
  const TempDir folder;
  const auto file = (folder.path() / "pid").string();
  auto source = exec_token(shell("echo $$ > " + file + "; exec sleep 3600"), std::make_shared<const http::Endpoint>());
  CHECK_FALSE(source->ready(Time(Duration(0))));
  const auto pid = written_to(file);
  CHECK_FALSE(source->ready(Time(Duration(0))));
  source.reset();
  CHECK(ends(pid));
}

TEST_CASE("hurry() kills a plug-in that hangs; another run may return a token") {
  const TempDir folder;
  const auto file = (folder.path() / "pid").string();
  // The first run hangs, the others do what the file says.
  const auto script = "[ -e " + file + " ] && exec sh " + file + "2; echo $$ > " + file + "; exec sleep 3600";
  const auto* const works = R"(echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}')";
  const auto [again, ends_well] = GENERATE_COPY(table<const char*, bool>({{"exit 1", false}, {works, true}}));
  std::ofstream(file + "2") << again;
  auto plugin = shell(script);
  plugin.api_version = "client.authentication.k8s.io/v1";
  auto source = exec_token(plugin, std::make_shared<const http::Endpoint>());
  CHECK_FALSE(source->ready(Time(Duration(0))));
  const auto pid = written_to(file);
  source->hurry();
  CHECK(::kill(pid, 0) == -1);  // killed, and reaped
  const auto token = source->token(Time(Duration(0)));
  CHECK(token.has_value() == ends_well);
  if (ends_well) return;
  CHECK(token.error().kind == ErrorKind::cancelled);
  CHECK(source->ready(Time(Duration(4'900))));  // within 5 s the same error is returned
  std::ofstream(file + "2") << works;
  CHECK(source->token(Time(Duration(5'000))).has_value());
}

TEST_CASE("a plug-in and its children end when our process is killed") {
  const TempDir folder;
  const auto file = (folder.path() / "pid").string();
  const auto plugin = shell(GENERATE("echo $$ > ", "sleep 3600 & echo $! > ") + file + "; " + GENERATE("exec sleep 3600", "wait; sleep 3600"));
  const auto step = ::fork();
  if (step == 0) {
    const PluginRun run(plugin, plugin_limit);
    written_to(file);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(step, nullptr, 0);
  CHECK(ends(written_to(file)));
}

TEST_CASE("a plug-in that exceeds its timeout is killed with its children") {
  const auto printed = run_exec_plugin(shell("sleep 3600 & sleep 3600"), Duration(50));
  REQUIRE_FALSE(printed);
  CHECK(printed.error().kind == ErrorKind::denied);
  CHECK_THAT(printed.error().message, Contains("'/bin/sh'") && Contains("did not exit within") && Contains("killed"));
}

TEST_CASE("a daemon left by a plug-in, with its output open, is not waited for") {
  const auto begin = std::chrono::steady_clock::now();
  const auto printed = run_exec_plugin(shell("sleep 30 & echo $!"), Duration(20'000));
  REQUIRE(printed);
  CHECK(::kill(std::stoi(*printed), SIGKILL) == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("output longer than the pipe buffer is read completely") {
  const auto printed = run_exec_plugin(shell("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done"));
  REQUIRE(printed);
  CHECK(printed->size() == 3000 * 41);
}
