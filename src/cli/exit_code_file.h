// The exit code in a file, for whoever starts the program and cannot wait for it: an interpreter that ignores SIGCHLD, a shell that has gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace trainstep::cli {

// A file that is written over time has one writer: for as long as it is open, is_ours() is false for all others. True also where files have no locks.
bool is_ours(const Fd& file);

class ExitCodeFile {
 public:
  ExitCodeFile() = default;  // none
  // Makes or empties it; it stays empty until write(). Error (usage): it cannot be written, another run has it open, or it holds
  // what is no exit code: somebody's data.
  static Result<ExitCodeFile> open(const std::string& path);
  // One line, "143". Of the process alone that has opened it, not of its forks.
  void write(int code) const;

 private:
  Fd m_file;
  pid_t m_owner = 0;
};

}  // namespace trainstep::cli
