// SPDX-License-Identifier: Apache-2.0
#include "base/fifo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/regular_file.h"

namespace trainstep {
namespace {

enum class Writer { none, present, gone };

// Without a writer, read() returns 0, at once and after the last one has closed it; poll() tells the two apart. While a writer that has written
// nothing yet is connected, read() fails with EAGAIN, but poll() waits: it is asked again from time to time.
Writer find_writer(int fd, std::string& content, std::chrono::milliseconds wait) {
  std::array<char, 4096> chunk{};
  const auto count = ::read(fd, chunk.data(), chunk.size());
  if (count > 0) content.assign(chunk.data(), static_cast<std::size_t>(count));
  if (count != 0) return Writer::present;  // other errors are reported by the next read
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  const bool ready = ::poll(&watched, 1, static_cast<int>(wait.count())) > 0;
  return ready && (watched.revents & (POLLHUP | POLLIN)) == POLLHUP ? Writer::gone : Writer::none;
}

}  // namespace

Result<std::string> read_fifo(int fd, const std::filesystem::path& path, std::size_t limit, std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds pause{50};
  const auto end = std::chrono::steady_clock::now() + wait;
  std::string content;
  auto writer = Writer::none;
  while ((writer = find_writer(fd, content, std::min(wait, pause))) == Writer::none)
    if (std::chrono::steady_clock::now() >= end)
      return input_error(
          fmt::format("{} is a FIFO, and no program has opened it for writing; start that program first, or write to a file", path.string()));
  if (writer == Writer::gone) return content;
  if (const int flags = ::fcntl(fd, F_GETFL); flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) return file_error("read", path, errno);
  return read_all(fd, path, limit, std::move(content));
}

}  // namespace trainstep
