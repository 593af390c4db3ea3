// The rights to change a folder that is ours, whatever its mode says. Go's module cache and Bazel make folders without the write bit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/fd.h"

namespace trainstep {

// Of the folder that `fd` has open (O_PATH will do), if it is of our user: read, write and search for the owner. → its mode before, 0 if it is as it
// was.
mode_t take_rights(int fd);

// The same for as long as this object lives. Of what is no folder, or a link, nothing changes.
class FolderRights {
 public:
  explicit FolderRights(const std::filesystem::path& folder);
  FolderRights(const FolderRights&) = delete;
  FolderRights& operator=(const FolderRights&) = delete;
  ~FolderRights();

 private:
  Fd m_folder;
  mode_t m_before = 0;
};

}  // namespace trainstep
