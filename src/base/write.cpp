// SPDX-License-Identifier: Apache-2.0
#include "base/write.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace trainstep {
namespace {

constexpr int forever = -1;

bool may_write(int fd, int timeout_ms) {
  pollfd entry{fd, POLLOUT, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

}  // namespace

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count >= 0)
      text.remove_prefix(static_cast<std::size_t>(count));
    else if (errno == EAGAIN)
      may_write(fd, forever);
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

// A pipe that poll(2) reports as writable accepts PIPE_BUF bytes without blocking.
void write_within(int fd, std::string_view text, Duration timeout) {
  while (!text.empty() && may_write(fd, static_cast<int>(timeout.count()))) {
    const auto count = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace trainstep
