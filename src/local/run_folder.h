// The folder of a run: locked as long as the run lives, and removed if nothing was started in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/made_folders.h"
#include "base/result.h"

namespace trainstep::local {

// The file in it that marks it as a run's.
inline constexpr auto run_folder_mark = ".trainstep-run";

class RunFolder {
 public:
  // Checks that no files of others would be overwritten: the path does not exist, is an empty folder, or was claimed by a run. Errors: input, denied.
  static Result<void> check(const std::filesystem::path& path);

  // Creates `path` and its parents, marks it as a run folder, and locks it against other runs on this machine until destruction, even if it is
  // renamed. The lock includes its path, because the program was given that. Errors: conflict (another run works there, or began there), those of
  // make_directories().
  static Result<RunFolder> claim(const std::filesystem::path& path);

  // Error (conflict): the folder was removed, or it or one of its parents was renamed or replaced; the path now belongs to something else, or there
  // is no permission to look.
  [[nodiscard]] Result<void> check_kept() const;

  // Removes what claim() has created, and nothing of whatever is at its path now. For a run that ends before anything was started. Errors: those of
  // remove_tree().
  Result<void> discard();

 private:
  Result<void> hold_names();

  std::filesystem::path m_path;
  Fd m_folder;
  FileLock m_lock;
  std::vector<FileLock> m_names;
  MadeFolders m_parents;
  bool m_made = false;
};

}  // namespace trainstep::local
