// Which Python the gang runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "process/child.h"

namespace trainstep::local {

struct Interpreter {
  std::filesystem::path tools;   // holds `python3` and `python`; first on the gang's PATH
  std::filesystem::path folder;  // of the chosen interpreter, for its torchrun and pip; empty: none was chosen
};

// Specifications call python3, often from within shell scripts: <run_dir>/bin/python3 and python run the chosen interpreter. Scripts and not links,
// because a virtual environment is found by the path of its interpreter. Without a choice, and with only one of the two names on the PATH, the other
// is made. Error (input): `python` cannot be found.
Result<Interpreter> set_up_interpreter(const std::filesystem::path& run_dir, const std::string& python, const process::Variables& own);

}  // namespace trainstep::local
