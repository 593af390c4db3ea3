// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/links.h"
#include "base/text.h"
#include "process/signals.h"

namespace trainstep::cli {
namespace {

constexpr std::size_t max_line_length = 4;  // "143\n"
constexpr int cancelled_exit_code = 128;    // plus the signal: result/verdict.h

// Written by an earlier run, or empty.
bool holds_exit_code(const std::string& path, off_t size) {
  if (size == 0) return true;
  const auto text = read_file(path, max_line_length);
  return text && std::ranges::all_of(trim(*text), [](char c) { return c >= '0' && c <= '9'; });
}

// For the signal handler.
int stopped_file = -1;
pid_t stopped_process = 0;

// Must not act in a forked child.
void end_stopped(int signal) {
  if (::getpid() != stopped_process) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  const int code = cancelled_exit_code + signal;
  const std::array<char, max_line_length> line{static_cast<char>('0' + code / 100), static_cast<char>('0' + code / 10 % 10),
                                               static_cast<char>('0' + code % 10), '\n'};
  [[maybe_unused]] const auto written = ::pwrite(stopped_file, line.data(), line.size(), 0);
  ::_exit(code);
}

void end_with_code_when_stopped(int file) {
  stopped_file = file;
  stopped_process = ::getpid();
  const auto stops = process::stop_signals();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP})
    if (sigismember(&stops, signal) == 1) ::signal(signal, end_stopped);
}

}  // namespace

// A process that sees the file may send a signal at once: signals stay blocked until the handler knows what to write.
Result<ExitCodeFile> ExitCodeFile::open(const std::string& path) {
  const auto stops = process::stop_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &stops, &before);
  auto result = make(path);
  if (result) end_with_code_when_stopped(result->m_file.get());
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return result;
}

Result<ExitCodeFile> ExitCodeFile::make(const std::string& path) {
  ExitCodeFile result;
  if (named_descriptor(path).value_or(STDERR_FILENO + 1) <= STDERR_FILENO)  // the log goes there; any other descriptor belongs to the caller
    return usage_error(fmt::format("--exit-code-file: {} is the log; choose a separate file", path));
  result.m_file = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0644));
  result.m_owner = ::getpid();
  struct stat status{};
  const bool regular = result.m_file && ::fstat(result.m_file.get(), &status) == 0 && S_ISREG(status.st_mode);
  auto lock = regular ? FileLock::take(result.m_file) : FileLock();
  if (!lock) return usage_error(fmt::format("--exit-code-file: another run is writing {}; choose another file", path));
  result.m_lock = std::move(*lock);
  if (regular && !holds_exit_code(path, status.st_size))
    return usage_error(fmt::format("--exit-code-file: {} already has other contents; choose a new file", path));
  if (regular && ::ftruncate(result.m_file.get(), 0) == 0) {
    // Allocates its block now, because the disk may be full at the end. If the file system does not support that, the end will tell.
    if (::fallocate(result.m_file.get(), FALLOC_FL_KEEP_SIZE, 0, max_line_length) == 0 || errno != ENOSPC) return result;
  }
  return usage_error(
      fmt::format("--exit-code-file: cannot write {}: {}", path, result.m_file && !regular ? "not a regular file" : std::strerror(errno)));
}

// An empty file means that the end is not known, which is then true.
Result<void> ExitCodeFile::write(int code) const {
  if (!m_file || m_owner != ::getpid()) return {};
  const auto line = fmt::format("{}\n", code);
  if (::pwrite(m_file.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size())) return {};
  return Error{ErrorKind::internal, fmt::format("--exit-code-file: cannot write the exit code {}: {}", code, std::strerror(errno))};
}

}  // namespace trainstep::cli
