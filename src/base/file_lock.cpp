// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace trainstep {
namespace {

// Binds an abstract socket name (unix(7)), which is unique and is released when the process ends. nullopt: the name is taken. Returns an empty Fd if
// no socket can be created or bound for another reason: this must not be an obstacle.
std::optional<Fd> take_socket(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == EADDRINUSE) return std::nullopt;
  return socket;
}

}  // namespace

std::optional<FileLock> FileLock::take(const Fd& file) {
  FileLock lock;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return std::nullopt;
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return lock;
  auto name = take_socket(fmt::format("trainstep/{:x}/{:x}", status.st_dev, status.st_ino));
  if (!name) return std::nullopt;
  lock.m_name = std::move(*name);
  return lock;
}

// If two paths have the same hash, one of them is refused without need: the probability is 1 in 2^64.
std::optional<FileLock> FileLock::take_path(const std::filesystem::path& path) {
  struct stat mounts{};
  if (::stat("/proc/self/ns/mnt", &mounts) != 0) return FileLock();
  auto name = take_socket(fmt::format("trainstep/path/{:x}/{:x}/{:016x}", mounts.st_dev, mounts.st_ino, std::hash<std::string>()(path.string())));
  if (!name) return std::nullopt;
  FileLock lock;
  lock.m_name = std::move(*name);
  return lock;
}

}  // namespace trainstep
