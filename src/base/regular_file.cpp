// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"

namespace trainstep {
namespace {

std::string_view sort_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Result<void> check(const std::filesystem::path& path, const struct stat& found, std::size_t limit) {
  if (!S_ISREG(found.st_mode)) return input_error(fmt::format("{} is {}, expected a file", path.string(), sort_of(found.st_mode)));
  if (found.st_size > 0 && static_cast<std::size_t>(found.st_size) > limit)
    return input_error(fmt::format("{} is larger than {} bytes", path.string(), limit));
  return {};
}

}  // namespace

// Checks before opening, because opening a device can have side effects, and again afterwards, because the file may have been replaced.
Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t limit) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return file_error("read", path, errno);
  TRY(check(path, found, limit));
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &found) != 0) return file_error("read", path, errno);
  TRY(check(path, found, limit));
  return read_all(fd.get(), path, limit);
}

Result<std::string> read_all(int fd, const std::filesystem::path& path, std::size_t limit, std::string content) {
  std::array<char, 65536> chunk{};
  while (true) {
    if (content.size() > limit) return input_error(fmt::format("{} is larger than {} bytes", path.string(), limit));
    const auto count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) return content;
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EISDIR) return input_error(fmt::format("{} is a folder, expected a file", path.string()));
      return file_error("read", path, errno);
    }
    content.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

int create_new_file(const std::filesystem::path& path) {
  ::unlink(path.c_str());
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

}  // namespace trainstep
