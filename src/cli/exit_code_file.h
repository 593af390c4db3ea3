// The exit code in a file, for whoever starts the program and cannot wait for it: an interpreter that ignores SIGCHLD, a shell that has gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/result.h"

namespace trainstep::cli {

class ExitCodeFile {
 public:
  ExitCodeFile() = default;  // none
  explicit operator bool() const { return static_cast<bool>(m_file); }
  // Makes or empties it; it stays empty until write(). Error (usage): it cannot be written, another run has it open, or it holds
  // what is no exit code: somebody's data.
  // From then on SIGTERM, SIGINT and SIGHUP, as long as nobody else takes them and unless they are ignored, write 128 and their number, as of a
  // cancel, and end the process with that. To be called once, before any thread is made.
  static Result<ExitCodeFile> open(const std::string& path);
  // One line, "143". Of the process alone that has opened it, not of its forks. Error (internal): it could not be written, and stays empty.
  Result<void> write(int code) const;

 private:
  static Result<ExitCodeFile> make(const std::string& path);
  Fd m_file;
  FileLock m_lock;
  pid_t m_owner = 0;
};

}  // namespace trainstep::cli
