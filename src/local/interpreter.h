// Selects the Python interpreter of the gang.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "process/child.h"

namespace trainstep::local {

struct Interpreter {
  std::filesystem::path tools;   // contains `python3` and `python`; first on the gang's PATH
  std::filesystem::path folder;  // of the chosen interpreter, for its torchrun and pip; empty: none was chosen
};

// Specifications call python3, often from shell scripts: <run_dir>/bin/python3 and python run the chosen interpreter. They are scripts, not links,
// because a virtual environment is found by the path of its interpreter. If none is chosen and only one of the two names is on the PATH, the other is
// created. Error (input): `python` cannot be found.
Result<Interpreter> set_up_interpreter(const std::filesystem::path& run_dir, const std::string& python, const process::Variables& own);

}  // namespace trainstep::local
