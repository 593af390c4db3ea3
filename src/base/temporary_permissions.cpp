// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_permissions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainstep {
namespace {

// fchmod(2) does not accept O_PATH descriptors, and a folder without read permission cannot be opened otherwise.
bool set_mode(int fd, mode_t mode) { return ::chmod(fmt::format("/proc/self/fd/{}", fd).c_str(), mode) == 0; }

}  // namespace

mode_t grant_owner_permissions(int fd) {
  struct stat found{};
  if (::fstat(fd, &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) return 0;
  const auto mode = found.st_mode & 07777U;
  return (mode & S_IRWXU) != S_IRWXU && set_mode(fd, mode | S_IRWXU) ? found.st_mode : 0;
}

TemporaryPermissions::TemporaryPermissions(const std::filesystem::path& folder)
    : m_folder(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
      m_before(m_folder ? grant_owner_permissions(m_folder.get()) : 0) {}

TemporaryPermissions::~TemporaryPermissions() {
  if (m_before != 0) set_mode(m_folder.get(), m_before & 07777U);
}

}  // namespace trainstep
