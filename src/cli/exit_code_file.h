// Writes the exit code to a file, for a caller that cannot wait for the process: an interpreter that ignores SIGCHLD, a shell that has ended.
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
  // Creates or truncates it; it stays empty until write(). Error (usage): it cannot be written, another run has it open, or its content is not an
  // exit code, but other data. From then on SIGTERM, SIGINT and SIGHUP, unless they are ignored or handled elsewhere, write 128 plus their
  // number, as for a cancel, and end the process with it. Call it once, before any thread is created.
  static Result<ExitCodeFile> open(const std::string& path);
  // One line, "143". Only for the process that opened it, not its forks. Error (internal): it could not be written, and stays empty.
  Result<void> write(int code) const;

 private:
  static Result<ExitCodeFile> make(const std::string& path);
  Fd m_file;
  FileLock m_lock;
  pid_t m_owner = 0;
};

}  // namespace trainstep::cli
