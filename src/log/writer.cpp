// SPDX-License-Identifier: Apache-2.0
#include "log/writer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/checked_fd.h"
#include "base/fd.h"
#include "base/mailbox.h"
#include "base/write.h"

namespace trainstep::log {
namespace {

// Sizes of one write(2), so that progress is visible: files take much at once; the speed of a pipe's reader is unknown.
constexpr std::size_t piece_of_file = std::size_t{256} << 10U;
constexpr std::size_t piece_of_pipe = std::size_t{32} << 10U;
constexpr std::size_t piece_for_slow = PIPE_BUF;
constexpr int quick_turns = 16;  // after this many consecutive successful polls a reader no longer counts as slow
constexpr std::size_t small = std::size_t{64} << 10U;
constexpr Duration rest_after{1'000};    // then buffers are freed
constexpr Duration last_timeout{2'000};  // of the destructor
constexpr auto never = ~std::size_t{0};

bool is_file(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// There is no reader any more: the other end of the pipe or terminal is closed, or nothing was ever open.
bool means_gone(int fd, int error) { return error == EPIPE || error == EBADF || (error == EIO && ::isatty(fd) != 0); }

}  // namespace

struct Writer::Shared {
  explicit Shared(int where) : fd(where), most(is_file(where) ? piece_of_file : piece_of_pipe), regular(is_file(where)) {}

  const int fd;
  const std::size_t most;
  const bool regular;
  const Fd wakeup_fd = checked_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  std::atomic<std::uint64_t> taken = 0;
  std::atomic<std::size_t> wake_when_unread_at_most = never;
  std::atomic<bool> gone = false;

  std::mutex mutex;
  std::condition_variable filled, progress;
  std::string handed;  // guarded by the mutex, as are the next three
  std::uint64_t committed = 0;
  bool sleeps = false;
  bool closed = false;

  // Used only by the thread.
  int quick = quick_turns;
  bool line_is_open = false;  // the last write did not end with a newline
  bool torn = false;          // by an error
  bool complained = false;

  void run();
  void write(std::string_view text);
  void took(std::size_t bytes);
  void look_at_bell();
  bool wait_for_text(std::string& text);
  void complain(int error);
};

// false: closed. Frees the buffers of a burst when no more text arrives; because this thread does not allocate, the process needs no second malloc
// arena.
bool Writer::Shared::wait_for_text(std::string& text) {
  text.clear();
  std::unique_lock lock(mutex);
  const auto there = [this] { return closed || !handed.empty(); };
  sleeps = true;
  if (text.capacity() > small && !filled.wait_for(lock, rest_after, there)) {
    std::string().swap(text);
    if (handed.capacity() > small) std::string().swap(handed);
  }
  filled.wait(lock, there);
  sleeps = false;
  if (handed.empty()) return false;
  text.swap(handed);
  return true;
}

void Writer::Shared::run() {
  std::string text;
  while (wait_for_text(text)) write(text);
}

void Writer::Shared::write(std::string_view text) {
  if (torn && line_is_open && ::write(fd, "\n", 1) == 1) line_is_open = false;
  torn = false;
  while (!text.empty() && !gone) {
    pollfd entry{fd, POLLOUT, 0};
    quick = regular || ::poll(&entry, 1, 0) > 0 ? quick + 1 : 0;
    const auto count = ::write(fd, text.data(), std::min(text.size(), quick < quick_turns ? piece_for_slow : most));
    if (count >= 0) {
      const auto bytes = static_cast<std::size_t>(count);
      if (bytes > 0) line_is_open = text[bytes - 1] != '\n';
      text.remove_prefix(bytes);
      took(bytes);
    } else if (errno == EAGAIN) {
      ::poll(&entry, 1, -1);
    } else if (means_gone(fd, errno)) {
      gone = true;
    } else if (errno != EINTR) {  // a full disk must not end a training run: write what is possible
      complain(errno);
      torn = true;
      took(text.size());
      return;
    }
  }
  if (gone) look_at_bell();
}

void Writer::Shared::took(std::size_t bytes) {
  taken += bytes;
  look_at_bell();
}

void Writer::Shared::look_at_bell() {
  std::size_t waiting = 0;
  {
    const std::lock_guard lock(mutex);
    waiting = gone ? 0 : static_cast<std::size_t>(committed - taken);
  }
  if (waiting == 0 || gone) progress.notify_all();
  auto wish = wake_when_unread_at_most.load();
  if (wish == never || waiting > wish || !wake_when_unread_at_most.compare_exchange_strong(wish, never)) return;
  const std::uint64_t one = 1;
  (void)!::write(wakeup_fd.get(), &one, sizeof one);
}

// Once, on stderr, and without blocking.
void Writer::Shared::complain(int error) {
  if (std::exchange(complained, true)) return;
  std::array<char, 200> line{};
  const auto length = std::snprintf(line.data(), line.size(), "trainstep: cannot write the log: %s; the run continues, log lines are lost\n",
                                    ::strerrordesc_np(error));
  write_within(STDERR_FILENO, {line.data(), std::min(line.size() - 1, static_cast<std::size_t>(std::max(length, 0)))}, Duration(0));
}

Writer::Writer(int fd) : m_fd(fd), m_shared(std::make_shared<Shared>(fd)) {
  m_thread = thread_without_signals([shared = m_shared] { shared->run(); });
}

Writer::~Writer() {
  const bool written = finish(m_given_up ? Duration(0) : last_timeout);
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->closed = true;
    m_shared->handed.clear();
  }
  m_shared->filled.notify_one();
  if (written)
    m_thread.join();
  else
    m_thread.detach();  // blocked on the reader; it ends with the process
}

void Writer::commit() {
  if (m_text.empty()) return;
  m_committed += m_text.size();
  bool sleeps = false;
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->committed = m_committed;
    if (m_shared->handed.empty())
      m_shared->handed.swap(m_text);
    else
      m_shared->handed += m_text;
    if (m_shared->gone) m_shared->handed.clear();
    sleeps = m_shared->sleeps;
  }
  m_text.clear();
  if (sleeps) m_shared->filled.notify_one();
  if (m_on_full && waiting() > full) m_on_full();
}

void Writer::give_up() {
  m_given_up = true;
  if (const auto bytes = waiting(); bytes > 0)
    write_within(STDERR_FILENO, fmt::format("trainstep: the last {} bytes of the log were not read\n", bytes), Duration(0));
}

std::size_t Writer::waiting() const { return m_shared->gone ? 0 : static_cast<std::size_t>(m_committed - m_shared->taken) + m_text.size(); }

std::uint64_t Writer::taken() const { return m_shared->taken; }

int Writer::wakeup_fd() const { return m_shared->wakeup_fd.get(); }

void Writer::wake_when_unread_at_most(std::size_t bytes) {
  m_shared->wake_when_unread_at_most = bytes;
  m_shared->look_at_bell();
}

void Writer::clear_wakeup() {
  std::uint64_t rung = 0;
  (void)!::read(wakeup_fd(), &rung, sizeof rung);
}

bool Writer::finish(Duration timeout) {
  commit();
  std::unique_lock lock(m_shared->mutex);
  for (auto before = taken(); waiting() > 0; before = taken())
    if (!m_shared->progress.wait_for(lock, timeout, [this] { return waiting() == 0; }) && taken() == before) return false;
  return true;
}

}  // namespace trainstep::log
