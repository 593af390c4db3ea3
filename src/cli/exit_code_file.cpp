// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace trainstep::cli {

Result<ExitCodeFile> ExitCodeFile::open(const std::string& path) {
  ExitCodeFile result;
  result.m_file = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0644));
  result.m_owner = ::getpid();
  struct stat status{};
  const bool regular = result.m_file && ::fstat(result.m_file.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (regular && ::ftruncate(result.m_file.get(), 0) == 0) return result;
  return usage_error(
      fmt::format("--exit-code-file: {} cannot be written: {}", path, result.m_file && !regular ? "not a regular file" : std::strerror(errno)));
}

void ExitCodeFile::write(int code) const {
  if (!m_file || m_owner != ::getpid()) return;
  const auto line = fmt::format("{}\n", code);
  // An empty file says that the end is not known, which is true then.
  static_cast<void>(!::pwrite(m_file.get(), line.data(), line.size(), 0));
}

}  // namespace trainstep::cli
