// A place for the temporary files of one run, which goes with it: programs – KFP's own wrapper of a Python function, to begin with – leave theirs
// behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "process/child.h"

namespace trainstep::local {

// A path for it below the environment's TMPDIR, or /tmp, at which nothing is: short, as sockets are made there.
std::filesystem::path scratch_path(const process::Variables& environment);
// Makes the folder there. Empty where /tmp takes none. Whoever outlives the run removes it: the guard, when the run was killed; so it must know the
// path before. Errors: of a TMPDIR that takes none, input or internal.
Result<std::filesystem::path> make_scratch(const process::Variables& environment, const std::filesystem::path& path);
Result<void> remove_scratch(const std::filesystem::path& folder);  // errors: those of remove_tree()

class Scratch {
 public:
  // Names the folder as TMPDIR in `environment`; where there is none, the environment stays as it is.
  Scratch(std::filesystem::path folder, process::Variables& environment);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();  // removes it, if that has not been done
  // Removes it with all that is in it, unless it was to stay. Errors: those of remove_tree().
  Result<void> remove();
  // Whether a path is it, or lies in it.
  [[nodiscard]] bool holds(std::string_view path) const;
  // It stays: somebody points at what lies there.
  void keep() { m_kept = true; }
  // Where, if so.
  [[nodiscard]] std::filesystem::path kept() const { return m_kept ? m_path : std::filesystem::path(); }

 private:
  std::filesystem::path m_path;       // empty: there is none
  std::filesystem::path m_real_path;  // without links
  bool m_kept = false;
};

}  // namespace trainstep::local
