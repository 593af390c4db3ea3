// Whether a file was changed since a given moment of this machine's clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <map>

namespace trainstep {

// File systems of this machine take timestamps from the kernel's clock. Those of others (NFS, FUSE, Ceph) take them from another clock, which may be
// ten seconds behind.
class ChangedSince {
 public:
  // The timestamp that the kernel would give to a file changed now.
  static timespec now();

  explicit ChangedSince(timespec since) : m_since(since) {}
  // `found`: the result of stat() or lstat() for `path`. Compares the status change time (ctime), which programs cannot set; moving or linking a file
  // updates it.
  bool operator()(const std::filesystem::path& path, const struct stat& found);

 private:
  timespec m_since;
  std::map<dev_t, bool> m_here;  // by device: whether its clock is this machine's
};

}  // namespace trainstep
