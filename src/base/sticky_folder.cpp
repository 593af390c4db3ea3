// SPDX-License-Identifier: Apache-2.0
#include "base/sticky_folder.h"

#include <sys/stat.h>
#include <unistd.h>

namespace trainstep {

bool is_in_sticky_folder_of_other_user(const std::filesystem::path& path) {
  const auto self = ::geteuid();
  struct stat folder{}, entry{};
  if (self == 0 || ::lstat(path.c_str(), &entry) != 0) return false;
  if (::stat(path.has_parent_path() ? path.parent_path().c_str() : ".", &folder) != 0 || (folder.st_mode & S_ISVTX) == 0) return false;
  return entry.st_uid != self && folder.st_uid != self;
}

}  // namespace trainstep
