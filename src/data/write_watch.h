// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/fd.h"

namespace trainstep {

// Files that are watched for being written to. Their times do not tell: a program that restores the modification time (`cp -p`, `touch -r`) leaves
// only a new status change time, as chmod, chown, another link and a rename do. inotify(7) reports the first alone.
class WriteWatch {
 public:
  // Watches the file from now on; a link is followed. Does nothing if that is impossible: more than a thousand files, the system's limit on watches,
  // a file that this user cannot read. `found`: its stat().
  void add(const std::filesystem::path& path, const struct stat& found);
  // Whether the file was truncated or written to since it was added. Not reported: what other machines write to a shared file system, and what is
  // written through mmap(2).
  bool saw_write(const struct stat& found);

 private:
  using File = std::pair<dev_t, ino_t>;
  void read_events();

  Fd m_inotify;
  std::map<int, File> m_watched;  // by watch descriptor
  std::set<File> m_written;
};

}  // namespace trainstep
