// The folders of the step's files as they were when it started (docs/adr/0018-outputs-appear-whole.md).
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
  // The folder of each file that the step writes, or its nearest existing ancestor. For a link, both the folder of the link and that of its target.
  // Files that are already open are not included; PendingOutput holds that of model_dir.
  explicit HeldFolders(const Inputs& inputs);

  // Error (conflict): the folder of this file, or one above it, was renamed since then, so that the path leads to another folder or to none. A
  // removed folder may be created again.
  [[nodiscard]] Result<void> check(const std::string& path) const;

 private:
  void hold(const std::string& file);

  std::map<std::filesystem::path, Fd> m_folders;
  std::map<std::string, std::vector<std::filesystem::path>> m_of;  // path of a file, as given → its folders
};

}  // namespace trainstep::step
