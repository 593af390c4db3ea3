// The folder of one run: claimed for as long as the run lives, and gone again when nothing was started in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/result.h"

namespace trainstep::local {

class RunFolder {
 public:
  // Nothing of others would be written over: nothing is there, or an empty folder, or one that a run has claimed. Errors: input, denied.
  static Result<void> check(const std::filesystem::path& path);

  // Makes `path` and its parents, marks it as a run's, and holds it against other runs of this machine until destruction, also when it is renamed,
  // and its name with it: the program was given that. Errors: conflict (another run works there, or began there), those of make_directories().
  static Result<RunFolder> claim(const std::filesystem::path& path);

  // Error (conflict): the folder was removed, or it, or one above it, renamed or replaced since; what lies at its path now is another one's.
  [[nodiscard]] Result<void> check_kept() const;

  // Removes what claim() has made, and nothing of whoever has its path now. For a run that ends before anything was started. Errors: those of
  // remove_tree().
  Result<void> discard();

 private:
  Result<void> hold_names();

  std::filesystem::path m_path;
  Fd m_folder;
  FileLock m_lock;
  std::vector<FileLock> m_names;
  bool m_made = false, m_parent_made = false;
};

}  // namespace trainstep::local
