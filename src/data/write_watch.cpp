// SPDX-License-Identifier: Apache-2.0
#include "data/write_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace trainstep {
namespace {

constexpr std::size_t max_watched = 1'000;  // all watches of a user are limited, to 8,192 on some systems

}  // namespace

void WriteWatch::add(const std::filesystem::path& path, const struct stat& found) {
  if (m_watched.size() >= max_watched) return;
  if (!m_inotify) m_inotify = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!m_inotify) return;
  const int watch = ::inotify_add_watch(m_inotify.get(), path.c_str(), IN_MODIFY | IN_ONESHOT);
  if (watch >= 0) m_watched[watch] = {found.st_dev, found.st_ino};
}

bool WriteWatch::saw_write(const struct stat& found) {
  if (m_inotify) read_events();
  return m_written.contains({found.st_dev, found.st_ino});
}

void WriteWatch::read_events() {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  for (;;) {
    const auto count = ::read(m_inotify.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    inotify_event event{};
    for (std::size_t at = 0; at + sizeof event <= static_cast<std::size_t>(count); at += sizeof event + event.len) {
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const auto file = m_watched.find(event.wd);
      if ((event.mask & IN_MODIFY) != 0 && file != m_watched.end()) m_written.insert(file->second);
    }
  }
}

}  // namespace trainstep
