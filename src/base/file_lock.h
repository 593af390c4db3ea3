// A file or folder that one process of a machine has to itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "base/fd.h"

namespace trainstep {

// Advisory; held for as long as the file stays open here and this lives – or in a process that was forked with both. Where the file system has no
// locks (flock(2): ENOSYS, EOPNOTSUPP, ENOLCK – Lustre without -o flock, NFS without lockd), a socket's name in the kernel stands in for it, which
// the processes of one machine and network namespace share.
class FileLock {
 public:
  FileLock() = default;  // of nothing
  // nullopt: another process has it.
  static std::optional<FileLock> take(const Fd& file);
  // The name itself, whatever bears it: programs that were given the path go on writing to it when the folder there is renamed. Among the processes
  // of one network namespace that see the same mounts; `path` is absolute. nullopt: another process has it.
  static std::optional<FileLock> take_path(const std::filesystem::path& path);

 private:
  Fd m_name;
};

}  // namespace trainstep
