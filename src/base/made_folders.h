// Folders that this process created on the way to a path, to be removed again if they were not needed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace trainstep {

// Keeps the deepest of them open, so that its inode number, and those of the folders that contain it, are not given to others.
class MadeFolders {
 public:
  MadeFolders() = default;
  // Creates `path`, which is absolute and without "..", and its missing parents. Errors: those of make_directories().
  static Result<MadeFolders> make(const std::filesystem::path& path);

  // Removes those that are empty, the deepest first, and stops at the first that is not in its place under its name: what is there instead – a file,
  // a link, another folder – stays.
  void remove_empty();

 private:
  struct Made {
    std::string name;
    dev_t device;
    ino_t inode;
  };
  bool create(const std::filesystem::path& path);

  std::vector<Made> m_made;  // the deepest last
  Fd m_deepest;
};

}  // namespace trainstep
