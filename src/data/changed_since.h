// Whether a file was created or written since a given moment of this machine's clock.
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
  // `found`: the result of stat() or lstat() for `path`. Programs cannot set the status change time (ctime), but chmod, moving and linking update it,
  // so the file must have been created or modified since as well. Where the time of its creation is unknown (birth_time.h), ctime decides.
  bool operator()(const std::filesystem::path& path, const struct stat& found);

 private:
  bool is_since(const timespec& at, const std::filesystem::path& path, dev_t device);

  timespec m_since;
  std::map<dev_t, bool> m_here;  // by device: whether its clock is this machine's
};

}  // namespace trainstep
