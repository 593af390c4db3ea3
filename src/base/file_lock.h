// Exclusive lock on a file or folder among the processes of one machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "base/fd.h"

namespace trainstep {

// Advisory. Held as long as the file is open in this process and this object lives, or in a forked child that has both. On file systems without locks
// (flock(2) fails with ENOSYS, EOPNOTSUPP or ENOLCK: Lustre without -o flock, NFS without lockd), an abstract socket name is used instead, which is
// shared by the processes of one machine and network namespace.
class FileLock {
 public:
  FileLock() = default;  // locks nothing
  // nullopt: another process holds the lock.
  static std::optional<FileLock> take(const Fd& file);
  // Locks the path as a name, not the file it refers to: programs that were given the path keep writing to it after the folder there is renamed.
  // Effective among processes of one network namespace that see the same mounts. `path` must be absolute. nullopt: another process holds the lock.
  static std::optional<FileLock> take_path(const std::filesystem::path& path);

 private:
  Fd m_name;
};

}  // namespace trainstep
