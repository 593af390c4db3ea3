// A folder for the temporary files of one run, removed with it: programs – starting with KFP's own wrapper of Python functions – do not remove
// theirs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "process/child.h"

namespace trainstep::local {

// An unused path for it below the environment's TMPDIR, or /tmp: short, because sockets are created there.
std::filesystem::path scratch_path(const process::Variables& environment);
// Creates the folder. Returns an empty path if /tmp is not writable. Whatever outlives the run removes the folder – the guard, if the run was killed
// –, so it must know the path in advance. Errors: those of a TMPDIR that is not writable, input or internal.
Result<std::filesystem::path> make_scratch(const process::Variables& environment, const std::filesystem::path& path);
Result<void> remove_scratch(const std::filesystem::path& folder);  // errors: those of remove_tree()

class Scratch {
 public:
  // Sets TMPDIR in `environment` to the folder; without a folder the environment is unchanged.
  Scratch(std::filesystem::path folder, process::Variables& environment);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();  // removes it, if that has not been done
  // Removes it with all its contents, unless it is to be kept. Errors: those of remove_tree().
  Result<void> remove();
  // Whether a path is the folder, or is below it.
  [[nodiscard]] bool holds(std::string_view path) const;
  // Keeps it: an output refers to its contents.
  void keep() { m_kept = true; }
  // Its path, if kept.
  [[nodiscard]] std::filesystem::path kept() const { return m_kept ? m_path : std::filesystem::path(); }

 private:
  std::filesystem::path m_path;       // empty: there is none
  std::filesystem::path m_real_path;  // without links
  bool m_kept = false;
};

}  // namespace trainstep::local
