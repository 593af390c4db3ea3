// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/links.h"
#include "base/text.h"

namespace trainstep::cli {
namespace {

constexpr std::size_t longest_line = 4;  // "143\n"

// Of an earlier run, or nothing.
bool holds_exit_code(const std::string& path, off_t size) {
  if (size == 0) return true;
  const auto text = read_file(path, longest_line);
  return text && std::ranges::all_of(trim(*text), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<ExitCodeFile> ExitCodeFile::open(const std::string& path) {
  ExitCodeFile result;
  if (named_descriptor(path).value_or(STDERR_FILENO + 1) <= STDERR_FILENO)  // the log goes there; any other is the caller's own
    return usage_error(fmt::format("--exit-code-file: {} takes the log; give a file of its own", path));
  result.m_file = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0644));
  result.m_owner = ::getpid();
  struct stat status{};
  const bool regular = result.m_file && ::fstat(result.m_file.get(), &status) == 0 && S_ISREG(status.st_mode);
  auto lock = regular ? FileLock::take(result.m_file) : FileLock();
  if (!lock) return usage_error(fmt::format("--exit-code-file: another run is writing {}; give another file", path));
  result.m_lock = std::move(*lock);
  if (regular && !holds_exit_code(path, status.st_size))
    return usage_error(fmt::format("--exit-code-file: {} holds something else; give a new file", path));
  if (regular && ::ftruncate(result.m_file.get(), 0) == 0) {
    // Its block is taken now: at the end the disk may be full. Where the file system cannot do that, the end tells.
    if (::fallocate(result.m_file.get(), FALLOC_FL_KEEP_SIZE, 0, longest_line) == 0 || errno != ENOSPC) return result;
  }
  return usage_error(
      fmt::format("--exit-code-file: {} cannot be written: {}", path, result.m_file && !regular ? "not a regular file" : std::strerror(errno)));
}

// An empty file says that the end is not known, which is true then.
Result<void> ExitCodeFile::write(int code) const {
  if (!m_file || m_owner != ::getpid()) return {};
  const auto line = fmt::format("{}\n", code);
  if (::pwrite(m_file.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size())) return {};
  return Error{ErrorKind::internal, fmt::format("--exit-code-file: the exit code {} could not be written: {}", code, std::strerror(errno))};
}

}  // namespace trainstep::cli
