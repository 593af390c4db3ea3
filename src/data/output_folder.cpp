// SPDX-License-Identifier: Apache-2.0
#include "data/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/remove_tree.h"
#include "data/path_snapshot.h"

namespace trainstep {

namespace fs = std::filesystem;

Result<std::pair<Fd, FileLock>> lock_folder(const fs::path& folder, const fs::path& target) {
  std::error_code ignored;
  while (true) {
    TRY(make_directories(folder));
    Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && errno == ENOENT) continue;
    if (!fd && errno == ENOTDIR && fs::is_symlink(folder, ignored))
      return input_error(fmt::format("{} is a symbolic link, and {} would be written through it; remove it or choose another path", folder.string(),
                                     target.string()));
    if (!fd) {
      auto error = file_error("open", folder, errno);
      if (error.kind != ErrorKind::denied) error.kind = ErrorKind::internal;  // not a user's input
      return error;
    }
    auto lock = FileLock::take(fd);
    if (!lock)
      return Error{ErrorKind::conflict, fmt::format("another run is writing {}; wait for it to finish, or choose another path", target.string())};
    struct stat held{}, there{};
    if (::fstat(fd.get(), &held) == 0 && ::stat(folder.c_str(), &there) == 0 && held.st_ino == there.st_ino)
      return std::pair{std::move(fd), std::move(*lock)};
  }  // the previous holder removed the folder when it finished
}

std::string why_hidden(const fs::path& path) {
  struct stat there{};
  return ::stat(path.c_str(), &there) != 0 && errno == EACCES ? file_error("read", path, EACCES).message : std::string();
}

// Some file systems change the inode number of an open folder: the path must differ as well.
fs::path moved_folder(const Fd& held_folder, const fs::path& folder) {
  struct stat held{}, there{};
  if (::fstat(held_folder.get(), &held) != 0 || held.st_nlink == 0) return {};
  if (::stat(folder.c_str(), &there) == 0 && held.st_dev == there.st_dev && held.st_ino == there.st_ino) return {};
  std::error_code code;
  auto now = fs::read_symlink(fmt::format("/proc/self/fd/{}", held_folder.get()), code);
  const bool removed = now.string().ends_with(" (deleted)");
  return code || removed || now == fs::canonical(folder, code) ? fs::path() : now;
}

// Some file systems do not count links of folders, others forget the names of existing ones: both signs are required.
bool was_removed(const Fd& held_folder) {
  struct stat held{};
  if (::fstat(held_folder.get(), &held) != 0 || held.st_nlink != 0) return false;
  std::error_code code;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", held_folder.get()), code).string().ends_with(" (deleted)");
}

fs::path held_place(const Fd& held_folder, const fs::path& folder) {
  if (was_removed(held_folder)) return {};
  if (const auto now = moved_folder(held_folder, folder); !now.empty()) return now;
  struct stat there{};
  if (::lstat(folder.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) return folder;
  std::error_code code;
  return fs::canonical(folder, code);  // a link to it
}

void tidy_folder(const Fd& held_folder, const fs::path& folder) {
  const auto place = held_place(held_folder, folder);
  if (place.empty() || may_hold_files(place / "new")) return;
  static_cast<void>(remove_tree(place / "new"));
  ::unlink((place / "owner").c_str());
  ::rmdir(place.c_str());
}

}  // namespace trainstep
