// SPDX-License-Identifier: Apache-2.0
#include "process/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>

#include "process/child.h"
#include "process/descendants.h"
#include "process/signals.h"
#include "run_until.h"
#include "support/catch.h"

namespace trainstep::process {
namespace {

// A process of its own that calls run_guarded. What the program within writes to `out` arrives in read_line().
class Guarded {
 public:
  explicit Guarded(const std::function<int(int guard_fd, int out)>& program) {
    become_subreaper();
    std::array<int, 2> out{};
    REQUIRE(::pipe2(out.data(), O_CLOEXEC) == 0);
    guard = ::fork();
    ::setpgid(guard, guard);  // as a shell with job control does
    if (guard == 0) {
      ::close(out[0]);
      ::close(STDERR_FILENO);
      for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);  // below nohup they are ignored, and never pending
      ::alarm(60);                                                                   // no test waits longer, whatever happens
      ::_exit(run_guarded([&](int guard_fd) { return program(guard_fd, out[1]); }));
    }
    ::close(out[1]);
    m_out = Fd(out[0]);
  }
  ~Guarded() { end_descendants(Duration{10'000}); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  // Empty at the end.
  std::string read_line() {
    std::string line;
    for (char c = 0; ::read(m_out.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  [[nodiscard]] int exit_code() const {
    int status = 0;
    REQUIRE(::waitpid(guard, &status, 0) == guard);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  pid_t guard = 0;

 private:
  Fd m_out;
};

void put(int out, const std::string& line) { [[maybe_unused]] const auto written = ::write(out, (line + "\n").data(), line.size() + 1); }

pid_t start_sleeper() {
  const auto child = spawn({{"setsid", "sleep", "1000"}, {{"PATH", "/usr/bin:/bin"}}, "/"});
  return child ? child->pid : -1;
}

TEST_CASE("the guard's exit code is the program's") {
  const Guarded guarded([](int, int) { return 42; });
  CHECK(guarded.exit_code() == 42);
}

TEST_CASE("what the program leaves running ends before the guard does", "[subreaper]") {
  Guarded guarded([](int, int out) {
    put(out, std::to_string(start_sleeper()));
    return 0;
  });
  const auto sleeper = std::stoi(guarded.read_line());
  CHECK(guarded.exit_code() == 0);
  CHECK_FALSE(alive(sleeper));
}

int forks_to_a_stop = 0;

void stop_after_fork() {
  if (forks_to_a_stop > 0 && --forks_to_a_stop == 0) ::raise(SIGTERM);
}

TEST_CASE("a stop signal in the program's first moment is not lost") {
  REQUIRE(::pthread_atfork(nullptr, nullptr, stop_after_fork) == 0);
  forks_to_a_stop = 2;  // the guard's own fork, and the program's
  const Guarded guarded([](int, int) {
    sigset_t pending{};
    ::sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1 ? 42 : 1;
  });
  forks_to_a_stop = 0;
  CHECK(guarded.exit_code() == 42);
}

TEST_CASE("a killed program is exit code 3, and nothing of it stays", "[subreaper]") {
  Guarded guarded([](int, int out) {
    put(out, std::to_string(start_sleeper()));
    ::raise(SIGKILL);
    return 0;
  });
  const auto sleeper = std::stoi(guarded.read_line());
  CHECK(guarded.exit_code() == 3);
  CHECK_FALSE(alive(sleeper));
}

TEST_CASE("a signal that kills by default ends the program and what it runs, not the guard", "[subreaper]") {
  for (const int signal : {SIGQUIT, SIGUSR1, SIGALRM, SIGXCPU, SIGPWR, SIGSTKFLT, SIGRTMIN, SIGRTMAX}) {
    CAPTURE(signal);
    Guarded guarded([](int, int out) {
      put(out, std::to_string(start_sleeper()));
      ::pause();
      return 0;
    });
    const auto sleeper = std::stoi(guarded.read_line());
    ::kill(guarded.guard, signal);
    CHECK(guarded.exit_code() == 3);
    CHECK_FALSE(alive(sleeper));
  }
}

TEST_CASE("the program notices that its guard was killed") {
  Guarded guarded([](int guard_fd, int out) {
    put(out, "ready");
    pollfd waiting{guard_fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, 20'000);
    put(out, ready == 1 ? "noticed" : "not noticed");
    return 0;
  });
  CHECK(guarded.read_line() == "ready");
  ::kill(guarded.guard, SIGKILL);
  CHECK(guarded.read_line() == "noticed");
}

TEST_CASE("a kill of the process group kills only the guard") {
  Guarded guarded([](int guard_fd, int out) {
    put(out, "ready");
    pollfd waiting{guard_fd, POLLIN, 0};
    put(out, ::poll(&waiting, 1, 20'000) == 1 ? "noticed" : "not noticed");
    return 0;
  });
  CHECK(guarded.read_line() == "ready");
  ::kill(-guarded.guard, SIGKILL);
  CHECK(guarded.read_line() == "noticed");
}

TEST_CASE("a program stopped by another process is continued") {
  const Guarded guarded([](int, int) {
    ::raise(SIGSTOP);
    return 42;
  });
  CHECK(guarded.exit_code() == 42);
}

TEST_CASE("a program that pauses goes on when its guard is killed") {
  Guarded guarded([](int guard_fd, int out) {
    put(out, std::to_string(::getpid()));
    pollfd waiting{guard_fd, POLLIN, 0};
    put(out, ::poll(&waiting, 1, 20'000) == 1 ? "noticed" : "not noticed");
    return 0;
  });
  const auto program = std::stoi(guarded.read_line());
  ::kill(guarded.guard, SIGSTOP);
  int status = 0;
  REQUIRE(::waitpid(guarded.guard, &status, WUNTRACED) == guarded.guard);
  ::kill(program, SIGSTOP);  // the two of them, as after Ctrl-Z
  ::kill(guarded.guard, SIGKILL);
  CHECK(guarded.read_line() == "noticed");
}

TEST_CASE("stop signals for the guard reach the program, none is lost before it listens") {
  const int signal = GENERATE(SIGTERM, SIGINT, SIGHUP);
  CAPTURE(signal);
  Guarded guarded([](int, int out) {
    put(out, "ready");
    PollLoop loop;
    // Waits until the signal is pending, so that it comes before Signals does.
    sigset_t pending;
    do ::sigpending(&pending);
    while (sigismember(&pending, SIGTERM) + sigismember(&pending, SIGINT) + sigismember(&pending, SIGHUP) == 0);
    const Signals signals(loop, [&](int received) {
      put(out, std::to_string(received));
      loop.stop();
    });
    loop.run();
    return 9;
  });
  CHECK(guarded.read_line() == "ready");
  ::kill(guarded.guard, signal);
  CHECK(guarded.read_line() == std::to_string(signal));
  CHECK(guarded.exit_code() == 9);
}

TEST_CASE("existing processes are not touched by the guard", "[subreaper]") {
  become_subreaper();
  std::array<int, 2> out{};
  REQUIRE(::pipe(out.data()) == 0);
  // As a shell does that starts something in the background and becomes us by exec.
  const auto host = ::fork();
  if (host == 0) {
    const auto stranger = ::fork();
    if (stranger == 0) {
      ::pause();
      ::_exit(0);
    }
    put(out[1], std::to_string(stranger));
    ::_exit(run_guarded([](int) { return 0; }));
  }
  std::array<char, 32> line{};
  REQUIRE(::read(out[0], line.data(), line.size() - 1) > 0);
  int status = 0;
  ::waitpid(host, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(alive(std::stoi(line.data())));
  end_descendants(Duration{10'000});
  CHECK_FALSE(alive(std::stoi(line.data())));
}

}  // namespace
}  // namespace trainstep::process
