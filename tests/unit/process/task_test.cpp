// SPDX-License-Identifier: Apache-2.0
#include "process/task.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>

#include "process/descendants.h"
#include "run_until.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::process {
namespace {

std::ptrdiff_t living_descendants() {
  const auto all = descendants(::getpid());
  return std::count_if(all.begin(), all.end(), [](const Process& process) { return !process.zombie; });
}

// One task at a time, what it said and how it ended.
class Fixture {
 public:
  Fixture() { become_subreaper(); }
  ~Fixture() {
    m_task.reset();
    end_descendants(Duration{10'000});
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void start(const std::string& script) {
    auto task = Task::start(
        m_loop, m_reaper, {{"sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, "/"}, "MARK=me", [this](std::string_view lines) { said += lines; },
        [this](int status) {
          wait_status = status;
          survivors = living_descendants();
          m_task.reset();
        });
    REQUIRE(task.has_value());
    m_task = std::move(*task);
    m_task->on_rest([this](const auto& rest) { outlived += describe(rest); }, [this](const auto& rest) { killed += describe(rest); });
  }
  Task& task() { return *m_task; }
  void until_said(const std::string& text) {
    run_until(m_loop, [&] { return said.find(text) != std::string::npos; });
  }
  void until_first_is_gone() {
    run_until(m_loop, [this, pid = m_task->pid()] { return ::kill(pid, 0) != 0; });
  }
  void until_ended() {
    run_until(m_loop, [&] { return wait_status.has_value(); });
  }
  // What the loop does for a moment, whatever comes.
  void turn() {
    m_loop.after(Duration(50), [this] { m_loop.stop(); });
    m_loop.run();
  }
  Time now() { return m_loop.now(); }

  std::string said, outlived, killed;
  std::optional<int> wait_status;
  std::ptrdiff_t survivors = 0;

 private:
  PollLoop m_loop;
  Reaper m_reaper{m_loop};
  std::unique_ptr<Task> m_task;
};

bool exited_with(std::optional<int> status, int code) { return status && WIFEXITED(*status) && WEXITSTATUS(*status) == code; }
bool killed_by(std::optional<int> status, int signal) { return status && WIFSIGNALED(*status) && WTERMSIG(*status) == signal; }

TEST_CASE("a task ends after its last line, with its exit code") {
  Fixture fixture;
  fixture.start("head -c 3000000 /dev/zero | tr '\\0' '\\n'; printf unfinished; exit 7");
  fixture.until_ended();
  CHECK(std::count(fixture.said.begin(), fixture.said.end(), '\n') == 3'000'001);
  CHECK(fixture.said.ends_with("\nunfinished\n"));
  CHECK(exited_with(fixture.wait_status, 7));
}

TEST_CASE("stdout and stderr are both delivered as a task's lines") {
  Fixture fixture;
  fixture.start("echo to stderr >&2; echo to stdout; kill -SEGV $$");
  fixture.until_ended();
  CHECK_THAT(fixture.said, Catch::Contains("to stderr\n") && Catch::Contains("to stdout\n"));
  CHECK(killed_by(fixture.wait_status, SIGSEGV));
}

TEST_CASE("a task that closes its output still ends only when it ends") {
  Fixture fixture;
  fixture.start("echo closing; exec >&- 2>&-; until test -s /proc/$$/nothing; do kill -0 $PPID && break; done; exit 3");
  fixture.until_ended();
  CHECK(fixture.said == "closing\n");
  CHECK(exited_with(fixture.wait_status, 3));
}

TEST_CASE("stop lets a task end by itself") {
  Fixture fixture;
  fixture.start("trap 'echo saved; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  fixture.until_said("ready");
  fixture.task().stop(Duration{60'000});
  fixture.until_ended();
  CHECK_THAT(fixture.said, Catch::Contains("saved\n"));
  CHECK(exited_with(fixture.wait_status, 5));
}

TEST_CASE("stop reaches the whole group, and waits for those that outlive its first process") {
  Fixture fixture;
  // The shell dies of the signal at once; the program it runs takes its time to save.
  fixture.start("sh -c 'trap \"sleep 0.2; echo saved; exit\" TERM; echo ready; while :; do sleep 0.01; done'; echo not reached");
  fixture.until_said("ready");
  fixture.task().stop(Duration{60'000});
  fixture.until_ended();
  CHECK_THAT(fixture.said, Catch::Contains("saved\n"));
  CHECK(killed_by(fixture.wait_status, SIGTERM));
  CHECK(fixture.survivors == 0);
}

TEST_CASE("once a stopped task's group has ended, what left it does not have the whole grace", "[subreaper]") {
  Fixture fixture;
  const TempDir folder;
  const auto go = (folder.path() / "go").string();
  REQUIRE(::mkfifo(go.c_str(), 0600) == 0);
  // The shell dies of the signal at once, the one below it when we say so.
  fixture.start("setsid sleep 1000 & sh -c 'trap \"read word <" + go + "; exit\" TERM; echo ready; while :; do sleep 0.01; done'; echo not reached");
  fixture.until_said("ready");
  const auto begun = fixture.now();
  fixture.task().stop(std::chrono::hours(1));
  fixture.until_first_is_gone();
  std::ofstream(go) << "go\n";
  fixture.until_ended();
  CHECK(killed_by(fixture.wait_status, SIGTERM));
  CHECK(fixture.survivors == 0);
  CHECK(fixture.now() - begun < Duration{10'000});
}

TEST_CASE("after a stop, processes outside a task's group get no more time once the group is empty", "[subreaper]") {
  Fixture fixture;
  fixture.start("setsid sleep 1000 & exit 3");
  const auto begun = fixture.now();
  fixture.until_first_is_gone();
  fixture.task().stop(std::chrono::hours(1));
  fixture.until_ended();
  CHECK(exited_with(fixture.wait_status, 3));
  CHECK(fixture.now() - begun < Duration{10'000});
}

TEST_CASE("after the grace a task is killed with all that left its group", "[subreaper]") {
  Fixture fixture;
  fixture.start("trap '' TERM; setsid sleep 1000 & sleep 1000 & echo ready; while :; do sleep 0.01; done");
  fixture.until_said("ready");
  fixture.task().stop(Duration{60'000});
  fixture.task().stop(Duration{50});  // a second stop shortens the grace
  fixture.until_ended();
  CHECK(killed_by(fixture.wait_status, SIGKILL));
  CHECK(fixture.survivors == 0);
}

TEST_CASE("processes left running by a task end with it", "[subreaper]") {
  const std::string script = GENERATE("sleep 1000 & echo child",                         // holds the output open
                                      "sleep 1000 >/dev/null 2>&1 & echo child",         // does not
                                      "setsid sleep 1000 >/dev/null 2>&1 & echo child",  // has left the group
                                      "(setsid sh -c 'sleep 1000 & wait' >/dev/null 2>&1 &) ; echo child");
  CAPTURE(script);
  Fixture fixture;
  fixture.start(script);
  const auto begun = fixture.now();
  fixture.until_ended();
  CHECK(fixture.said == "child\n");
  CHECK(exited_with(fixture.wait_status, 0));
  CHECK(fixture.survivors == 0);
  CHECK(fixture.now() - begun < Duration{10'000});
}

TEST_CASE("processes that outlive a task are reported, and killed if they do not end; without a variable or a parent, too", "[subreaper]") {
  Fixture fixture;
  fixture.start("setsid env -i sleep 1000 >/dev/null 2>&1 &");
  fixture.until_ended();
  CHECK_FALSE(fixture.outlived.empty());
  CHECK_THAT(fixture.killed, Catch::Contains("(sleep)"));
  CHECK(fixture.survivors == 0);
}

TEST_CASE("processes that end soon after a task are reported, and not killed") {
  Fixture fixture;
  const TempDir folder;
  const auto told = (folder.path() / "told").string();
  fixture.start("(until test -e '" + told + "'; do :; done) >/dev/null 2>&1 & exit 0");
  fixture.task().on_rest(
      [&](const auto& rest) {
        fixture.outlived += describe(rest);
        std::ofstream(told) << "go";
      },
      [&](const auto& rest) { fixture.killed += describe(rest); });
  fixture.until_ended();
  CHECK_FALSE(fixture.outlived.empty());
  CHECK(fixture.killed.empty());
}

TEST_CASE("processes left running by a failed task are killed at once", "[subreaper]") {
  Fixture fixture;
  fixture.start("sleep 1000 >/dev/null 2>&1 & exit 3");
  const auto begun = fixture.now();
  fixture.until_ended();
  CHECK(fixture.outlived.empty());
  CHECK_THAT(fixture.killed, Catch::Contains("(s"));
  CHECK(fixture.now() - begun < Duration{10'000});
}

TEST_CASE("a line that a grandchild writes soon after the end is not lost") {
  Fixture fixture;
  fixture.start("(sleep 0.2; echo late) & echo early");
  fixture.until_ended();
  CHECK(fixture.said == "early\nlate\n");
}

TEST_CASE("SIGKILL of a task's first process is reported, and its children end", "[subreaper]") {
  Fixture fixture;
  fixture.start("sleep 1000 & echo ready; wait");
  fixture.until_said("ready");
  ::kill(fixture.task().pid(), SIGKILL);
  fixture.until_ended();
  CHECK(killed_by(fixture.wait_status, SIGKILL));
  CHECK(fixture.survivors == 0);
}

// More than any pipe holds, then the end.
constexpr auto flood = "i=0; while [ $i -lt 3000 ]; do printf '%01000d\\n' $i; i=$((i+1)); done; echo end";

TEST_CASE("a task whose output is held waits in its writing, and loses nothing", "[subreaper]") {
  Fixture fixture;
  fixture.start(std::string("echo begun; ") + flood);
  fixture.until_said("begun\n");
  fixture.task().hold_output(Pressure::full);
  const auto before = fixture.said.size();
  fixture.turn();
  CHECK(fixture.said.size() == before);
  CHECK_FALSE(fixture.wait_status);
  fixture.task().hold_output(Pressure::none);
  fixture.until_ended();
  CHECK(std::count(fixture.said.begin(), fixture.said.end(), '\n') == 3002);
  CHECK(fixture.said.ends_with("end\n"));
}

TEST_CASE("the end of a task is noticed while its output is held, and with it comes what it wrote", "[subreaper]") {
  Fixture fixture;
  fixture.start("echo begun; sleep 0.05; echo last words");
  fixture.until_said("begun\n");
  fixture.task().hold_output(Pressure::stalled);
  fixture.until_ended();
  CHECK(fixture.said == "begun\nlast words\n");
}

TEST_CASE("a stopped program that must write before it exits can, although the log is not read", "[subreaper]") {
  Fixture fixture;
  fixture.start(std::string("trap 'echo saved; exit 0' TERM; echo begun; while :; do ") + flood + "; done");
  fixture.until_said("begun\n");
  fixture.task().hold_output(Pressure::full);
  fixture.turn();
  fixture.task().hold_output(Pressure::stalled);
  fixture.task().stop(std::chrono::hours(1));
  fixture.until_ended();
  CHECK(fixture.said.ends_with("saved\n"));
  CHECK(fixture.survivors == 0);
}

}  // namespace
}  // namespace trainstep::process
