// SPDX-License-Identifier: Apache-2.0
#include "data/birth_time.h"

#include <fcntl.h>

namespace trainstep {

std::optional<timespec> birth_time(const std::filesystem::path& path, const struct stat& found) {
  struct statx more{};
  const int flags = (S_ISLNK(found.st_mode) ? AT_SYMLINK_NOFOLLOW : 0) | AT_STATX_DONT_SYNC;
  const bool known = ::statx(AT_FDCWD, path.c_str(), flags, STATX_INO | STATX_BTIME, &more) == 0 && (more.stx_mask & STATX_BTIME) != 0;
  if (!known || more.stx_ino != found.st_ino) return std::nullopt;
  return timespec{more.stx_btime.tv_sec, static_cast<long>(more.stx_btime.tv_nsec)};
}

}  // namespace trainstep
