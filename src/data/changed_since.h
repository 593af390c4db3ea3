// Whether a file was changed since a moment of this machine's clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <map>

namespace trainstep {

// A file system of this machine counts by the kernel's clock. The times of one that others have – NFS, FUSE, Ceph – are of another clock, which may
// be ten seconds behind.
class ChangedSince {
 public:
  // As the kernel writes it on a file that is changed now.
  static timespec now();

  explicit ChangedSince(timespec since) : m_since(since) {}
  // `found`: what stat() or lstat() says of `path`. By the time of its status, which no program can set; whoever moves or links a file changes it.
  bool operator()(const std::filesystem::path& path, const struct stat& found);

 private:
  timespec m_since;
  std::map<dev_t, bool> m_here;  // by device: its clock is this machine's
};

}  // namespace trainstep
