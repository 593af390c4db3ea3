// The folders that the step's files were asked for in, as they were when it began (docs/adr/0018-outputs-appear-whole.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "step/inputs.h"

namespace trainstep::step {

class HeldFolders {
 public:
  // Of each file that the step writes, the folder; where that is not there, the nearest above it that is. Through a link both that of the link and
  // that of what it leads to. What is open already is in none, and of model_dir PendingOutput holds it.
  explicit HeldFolders(const Inputs& inputs);

  // Error (conflict): the folder of this file, or one above it, was renamed since, so that its path leads to another one or to none. One that was
  // removed may be made anew.
  [[nodiscard]] Result<void> check(const std::string& path) const;

 private:
  void hold(const std::string& file);

  std::map<std::filesystem::path, Fd> m_folders;
  std::map<std::string, std::vector<std::filesystem::path>> m_of;  // a file's path, as it was given → its folders
};

}  // namespace trainstep::step
