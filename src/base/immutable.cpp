// SPDX-License-Identifier: Apache-2.0
#include "base/immutable.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/fd.h"

namespace trainstep {
namespace {

// Does not open files that could block.
bool has_attributes(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status)) return false;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  int flags = 0;
  return fd && ::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) == 0 && (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) != 0;
}

}  // namespace

bool is_immutable(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  return has_attributes(path) || has_attributes(folder);
}

}  // namespace trainstep
