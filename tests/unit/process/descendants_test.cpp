// SPDX-License-Identifier: Apache-2.0
#include "process/descendants.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "process/child.h"
#include "run_until.h"
#include "support/catch.h"

namespace trainstep::process {
namespace {

// Starts `script`, which prints something when all its processes run; returns its first line.
struct Started {
  pid_t pid;
  std::string line;
};
Started start(const std::string& script, Variables environment = {{"PATH", "/usr/bin:/bin"}}) {
  auto child = spawn({{"sh", "-c", script}, std::move(environment), "/"});
  REQUIRE(child.has_value());
  ::fcntl(child->out.get(), F_SETFL, 0);
  std::string line;
  for (char c = 0; ::read(child->out.get(), &c, 1) == 1 && c != '\n';) line += c;
  return {child->pid, line};
}

TEST_CASE("descendants are found through every generation, also in sessions of their own", "[subreaper]") {
  become_subreaper();
  const auto tree = start("setsid sh -c 'sleep 1000 & echo $!; wait' & wait");
  const auto grandchild = std::stoi(tree.line);
  const auto found = descendants(tree.pid);
  CHECK(std::any_of(found.begin(), found.end(), [&](const Process& process) { return process.pid == grandchild; }));
  CHECK(std::all_of(found.begin(), found.end(), [&](const Process& process) { return process.pid != tree.pid; }));
  CHECK(end_descendants(Duration{10'000}));
  CHECK_FALSE(alive(tree.pid));
  CHECK_FALSE(alive(grandchild));
}

TEST_CASE("orphans that ignore every signal end too, strangers are spared", "[subreaper]") {
  become_subreaper();
  const auto stranger = start("echo; exec sleep 1000");
  const auto orphan = start("trap '' TERM INT HUP; setsid sleep 1000 & echo $!");
  ::waitpid(orphan.pid, nullptr, 0);
  REQUIRE(alive(std::stoi(orphan.line)));
  CHECK(end_descendants(Duration{10'000}, {stranger.pid}));
  CHECK_FALSE(alive(std::stoi(orphan.line)));
  CHECK(alive(stranger.pid));
  CHECK(end_descendants(Duration{10'000}));
  CHECK_FALSE(alive(stranger.pid));
}

// Forks and ends, over and over: `script` is what each generation does before.
constexpr auto chain = "import os, time\nend = time.monotonic() + 20\nwhile time.monotonic() < end:\n  {}os.fork() and os._exit(0)";
std::string fork_chain(const std::string& script) {
  std::string program = chain;
  program.replace(program.find("{}"), 2, script);
  return "/usr/bin/python3 -c '" + program + "' & echo; wait";
}

TEST_CASE("a process that forks and exits in a loop is found and killed", "[subreaper]") {
  become_subreaper();
  const auto script = GENERATE("", "os.setsid(); ");
  CAPTURE(script);
  start(fork_chain(script));
  for (int look = 0; look < 20; ++look) CHECK_FALSE(alive_descendants().empty());
  CHECK(end_descendants(Duration{10'000}));
  CHECK(alive_descendants().empty());
  CHECK(::waitpid(-1, nullptr, 0) == -1);
}

TEST_CASE("a process whose first thread has ended is alive as long as another thread runs", "[subreaper]") {
  become_subreaper();
  const auto worker = start(
      "exec /usr/bin/python3 -c 'import ctypes, os, platform, threading, time\n"
      "threading.Thread(target=lambda: (print(flush=True), time.sleep(1000))).start()\n"
      "ctypes.CDLL(None).syscall({\"x86_64\": 60, \"aarch64\": 93}[platform.machine()], 0)'",
      {{"PATH", "/usr/bin:/bin"}, {"MARK", "one"}});
  const auto found = descendants(::getpid());
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found.front().zombie);
  CHECK(started_with(worker.pid, "MARK") == "one");
  CHECK(end_descendants(Duration{10'000}));
}

TEST_CASE("a process group is ended only where all of it may be", "[subreaper]") {
  become_subreaper();
  const auto spared = start("echo; exec sleep 1000");
  const auto guest = start("echo; exec sleep 1000");
  REQUIRE(::setpgid(guest.pid, spared.pid) != 0);  // it has begun a program: only itself can go, and what it does so far
  auto found = descendants(::getpid(), {spared.pid});
  REQUIRE(found.size() == 1);
  found.front().group = spared.pid;
  kill_all(found, {spared.pid}, [](const Process&) { return false; });
  ::waitpid(guest.pid, nullptr, 0);
  ::kill(spared.pid, SIGTERM);
  int status = 0;
  ::waitpid(spared.pid, &status, 0);
  CHECK(WTERMSIG(status) == SIGTERM);
  CHECK(end_descendants(Duration{10'000}));
}

TEST_CASE("the start environment of a process is readable") {
  const auto marked = start("unset MARK; echo; sleep 1000", {{"PATH", "/usr/bin:/bin"}, {"MARK", "one"}});
  CHECK(started_with(marked.pid, "MARK") == "one");
  CHECK_FALSE(started_with(marked.pid, "MAR").has_value());
  CHECK_FALSE(started_with(marked.pid, "ARK").has_value());
  CHECK(end_descendants(Duration{10'000}));
  CHECK_FALSE(started_with(marked.pid, "MARK").has_value());
}

}  // namespace
}  // namespace trainstep::process
