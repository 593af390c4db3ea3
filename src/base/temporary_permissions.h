// Temporary owner permissions on a folder of our user, whatever its mode. Go's module cache and Bazel create folders without the write bit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/fd.h"

namespace trainstep {

// Adds read, write and search permission for the owner to the folder open at `fd` (O_PATH suffices), if our user owns it. Returns the previous mode,
// or 0 if the mode was not changed.
mode_t grant_owner_permissions(int fd);

// The same for the lifetime of this object. Does nothing if the path is not a folder or is a symbolic link.
class TemporaryPermissions {
 public:
  explicit TemporaryPermissions(const std::filesystem::path& folder);
  TemporaryPermissions(const TemporaryPermissions&) = delete;
  TemporaryPermissions& operator=(const TemporaryPermissions&) = delete;
  ~TemporaryPermissions();

 private:
  Fd m_folder;
  mode_t m_before = 0;
};

}  // namespace trainstep
