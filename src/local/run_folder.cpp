// SPDX-License-Identifier: Apache-2.0
#include "local/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace trainstep::local {

namespace fs = std::filesystem;

Result<RunFolder> RunFolder::claim(const fs::path& path) {
  RunFolder folder;
  folder.m_path = path;
  std::error_code ignored;
  folder.m_made = !fs::exists(path, ignored);
  folder.m_parent_made = !fs::exists(path.parent_path(), ignored);
  TRY(make_directories(path));
  folder.m_lock = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.m_lock && ::flock(folder.m_lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error{ErrorKind::conflict, fmt::format("run-dir: another run is at work in {}; choose another folder or wait for its end", path.string())};
  return folder;
}

void RunFolder::discard() {
  std::error_code ignored;
  if (m_made) fs::remove_all(m_path, ignored);
  if (m_parent_made) fs::remove(m_path.parent_path(), ignored);  // unless another run has come to it
}

}  // namespace trainstep::local
