// Runs code in a child process: with private mounts, or as a non-root user.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "support/catch.h"

namespace trainstep {

// What `work` returns there. `begin`: changes what the process may and sees; false: it could not, which fails the test.
inline std::string apart(const std::function<bool()>& begin, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto said = begin() ? work() : fmt::format("cannot begin: {}", std::strerror(errno));
    const bool written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = ::read(ends[0], part.data(), part.size())) > 0;) said.append(part.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  REQUIRE_THAT(said, !Catch::Matchers::StartsWith("cannot begin"));
  return said;
}

// As root, or with a user namespace where this is not root.
inline std::string with_own_mounts(const std::function<std::string()>& work) {
  const auto begin = [] {
    const auto user = ::geteuid(), group = ::getegid();
    if (::unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) return false;
    if (user != 0) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
      std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
    }
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  };
  return apart(begin, work);
}

inline bool bind(const std::filesystem::path& from, const std::filesystem::path& at) {
  return ::mount(from.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

// `folder` belongs to that user then.
inline std::string without_root(const std::filesystem::path& folder, const std::function<std::string()>& work) {
  constexpr uid_t nobody = 65534;
  const auto begin = [&] {
    if (::geteuid() != 0) return true;
    return ::chown(folder.c_str(), nobody, nobody) == 0 && ::setresgid(nobody, nobody, nobody) == 0 && ::setresuid(nobody, nobody, nobody) == 0;
  };
  return apart(begin, work);
}

}  // namespace trainstep
