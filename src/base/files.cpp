// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/fd.h"
#include "base/fifo.h"
#include "base/regular_file.h"

namespace trainstep {

Error file_error(std::string_view verb, const std::filesystem::path& path, int code) {
  const auto kind = code == ENOENT                                                                                 ? ErrorKind::not_found
                    : code == EACCES || code == EPERM || code == EROFS                                             ? ErrorKind::denied
                    : code == ENOTDIR || code == EISDIR || code == EEXIST || code == ENAMETOOLONG || code == ELOOP ? ErrorKind::input
                                                                                                                   : ErrorKind::internal;
  return {kind, fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(code))};
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  constexpr std::chrono::seconds wait_for_writer{5};
  // Only for a FIFO: otherwise opening it would wait for a writer, which may never come.
  struct stat found{};
  const bool fifo = ::stat(path.c_str(), &found) == 0 && S_ISFIFO(found.st_mode);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (fifo ? O_NONBLOCK : 0)));
  if (!fd) return file_error("read", path, errno);
  return fifo ? read_fifo(fd.get(), path, limit, wait_for_writer) : read_all(fd.get(), path, limit);
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  if (path.has_parent_path()) TRY(make_directories(path.parent_path()));
  auto temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  const Fd fd(create_new_file(temporary));
  if (!fd) return file_error("write", path, errno);
  const auto fail = [&](int code) {
    ::unlink(temporary.c_str());
    return file_error("write", path, code);
  };
  while (!content.empty()) {
    const auto count = ::write(fd.get(), content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno);
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) return fail(errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno);
  return {};
}

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

Result<void> make_directories(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return file_error("create the folder", path, code.value());
  return {};
}

}  // namespace trainstep
