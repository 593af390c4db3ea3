// SPDX-License-Identifier: Apache-2.0
#include "process/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::process {
namespace {

const Variables plain{{"PATH", "/usr/bin:/bin"}};

std::string read_all(const Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, 0);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), static_cast<std::size_t>(count));
  return text;
}

// Output and exit code of `sh -c script`.
std::pair<std::string, int> shell(const std::string& script, Variables environment = plain, const std::string& folder = "/") {
  auto child = spawn({{"sh", "-c", script}, std::move(environment), folder});
  REQUIRE(child.has_value());
  auto out = read_all(child->out);
  int status = 0;
  REQUIRE(::waitpid(child->pid, &status, 0) == child->pid);
  return {out, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

std::string spawn_message(const Command& command) {
  const auto child = spawn(command);
  REQUIRE_FALSE(child.has_value());
  CHECK(child.error().kind == ErrorKind::input);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return child.error().message;
}

TEST_CASE("a child gets exactly the given environment; the later value of a name is used") {
  CHECK(shell("env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD='", {{"A", "1"}, {"PATH", "/usr/bin:/bin"}, {"A", "two words\nand a line"}}).first ==
        "A=two words\nand a line\nPATH=/usr/bin:/bin\n");
}

TEST_CASE("a child has its own process group, an empty stdin, its folder, and no descriptor of ours") {
  const Fd leaking(::open("/dev/null", O_RDONLY));  // without close-on-exec
  const auto [out, code] = shell("test $(cut -d' ' -f5 /proc/$$/stat) = $$ && echo own group; wc -c; pwd; ls /proc/$$/fd", plain, "/usr");
  CHECK(out == "own group\n0\n/usr\n0\n1\n2\n");
  CHECK(code == 0);
}

TEST_CASE("a child starts with default signals, whatever this process blocks and ignores") {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, &before);
  const auto pipe_before = ::signal(SIGPIPE, SIG_IGN);
  const auto [out, code] = shell("grep '^Sig[BI]' /proc/self/status");
  ::signal(SIGPIPE, pipe_before);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  CHECK(out == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("stdout and stderr come separately") {
  auto child = spawn({{"sh", "-c", "echo out; echo err >&2"}, plain, "/"});
  REQUIRE(child.has_value());
  CHECK(read_all(child->out) == "out\n");
  CHECK(read_all(child->err) == "err\n");
  ::waitpid(child->pid, nullptr, 0);
}

TEST_CASE("a program that cannot be run is reported with the remedy") {
  const TempDir folder;
  const auto script = folder.path() / "script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  CHECK_THAT(spawn_message({{"no-such-program"}, plain, "/"}), Catch::Contains("cannot run no-such-program") && Catch::Contains("does not exist"));
  CHECK_THAT(spawn_message({{script.string()}, plain, "/"}), Catch::Contains("not executable (chmod +x)"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  CHECK_THAT(spawn_message({{script.string()}, plain, "/"}), Catch::Contains("the interpreter named in its first line, does not exist"));
  CHECK_THAT(spawn_message({{"true"}, plain, "/no/such/folder"}), Catch::Contains("in /no/such/folder"));
  CHECK_THAT(spawn_message({{"true", std::string(200'000, 'x')}, plain, "/"}), Catch::Contains("128 KiB"));
}

TEST_CASE("a program is searched on the child's PATH, not on ours") {
  const TempDir folder;
  std::ofstream(folder.path() / "tool") << "#!/bin/sh\necho mine\n";
  std::filesystem::permissions(folder.path() / "tool", std::filesystem::perms::owner_all);
  CHECK(find_program({{"tool"}, {{"PATH", folder.path().string()}}, "/"}) == (folder.path() / "tool").string());
  CHECK(find_program({{"tool"}, plain, "/"}) == std::nullopt);
  CHECK(find_program({{"./tool"}, plain, folder.path().string()}) == "./tool");
  CHECK(find_program({{""}, plain, "/"}) == std::nullopt);
}

TEST_CASE("variables are found and replaced by name") {
  Variables variables{{"A", "1"}, {"B", "2"}, {"A", "3"}};
  CHECK(*find_variable(variables, "A") == "3");
  set_variable(variables, "A", "4");
  set_variable(variables, "C", "5");
  CHECK(variables == Variables{{"A", "1"}, {"B", "2"}, {"A", "4"}, {"C", "5"}});
  CHECK(find_variable(variables, "D") == nullptr);
}

}  // namespace
}  // namespace trainstep::process
