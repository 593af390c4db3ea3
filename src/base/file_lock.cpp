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

namespace trainstep {

std::optional<FileLock> FileLock::take(const Fd& file) {
  FileLock lock;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return std::nullopt;
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return lock;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto name = fmt::format("trainstep/{:x}/{:x}", status.st_dev, status.st_ino);
  std::ranges::copy(name, address.sun_path + 1);  // abstract: unix(7)
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  lock.m_name = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (lock.m_name && ::bind(lock.m_name.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == EADDRINUSE) return std::nullopt;
  return lock;
}

}  // namespace trainstep
