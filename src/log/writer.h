// Writes the log on a thread of its own: a reader that is slow, or does not read at all, blocks only that thread (docs/adr/0017-the-log.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/time.h"

namespace trainstep::log {

// All functions must be called on one thread, the loop's. Create it after any fork, because a thread belongs to one process.
class Writer {
 public:
  // Limit in bytes for unread output, beyond which producers must wait (back_pressure.h).
  static constexpr std::size_t full = std::size_t{1} << 20U;

  // `fd` remains the caller's, and its flags are unchanged: it may be shared. -1: no reader.
  explicit Writer(int fd);
  // Writes the rest as long as the reader reads, as finish() does.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] int fd() const { return m_fd; }
  // Text appended here is written at the next commit().
  [[nodiscard]] std::string& text() { return m_text; }
  void commit();

  // Number of bytes not read yet; 0 if there is no reader any more.
  [[nodiscard]] std::size_t waiting() const;
  // Number of bytes read, or lost with an error: it increases as long as the reader reads.
  [[nodiscard]] std::uint64_t taken() const;
  // Called by every commit() after which more than `full` bytes are unread.
  void on_full(std::function<void()> call) { m_on_full = std::move(call); }

  // A descriptor that becomes readable when at most `bytes` are unread; once for each wake_when_unread_at_most().
  [[nodiscard]] int wakeup_fd() const;
  void wake_when_unread_at_most(std::size_t bytes);
  void clear_wakeup();

  // Abandons the unread bytes and reports their number on stderr.
  void give_up();
  // Waits until everything was written; false: nothing was read for `timeout`.
  bool finish(Duration timeout);

 private:
  struct Shared;
  int m_fd;
  std::string m_text;
  std::uint64_t m_committed = 0;
  std::function<void()> m_on_full;
  std::shared_ptr<Shared> m_shared;  // shared with the thread, which outlives this object if the reader does not read
  std::thread m_thread;
  bool m_given_up = false;
};

}  // namespace trainstep::log
