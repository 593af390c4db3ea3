// The bytes of the log on their way to whoever reads it, by a thread of their own: a reader that is slow, or does not read at all, holds up that
// thread and nobody else (docs/adr/0017-the-log.md).
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

// All functions are for one thread, the loop's. To be made after any fork, as a thread belongs to one process.
class Writer {
 public:
  // So much may wait for its reader; beyond it those who produce have to wait (back_pressure.h).
  static constexpr std::size_t full = std::size_t{1} << 20U;

  // `fd` stays the caller's, and so do its flags: it may be shared with others. -1: nobody reads.
  explicit Writer(int fd);
  // What is left is written as long as somebody reads, as finish() does.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] int fd() const { return m_fd; }
  // What is appended here goes with the next commit().
  [[nodiscard]] std::string& text() { return m_text; }
  void commit();

  // Bytes that the reader has not taken yet; 0 when there is no reader any more.
  [[nodiscard]] std::size_t waiting() const;
  // Bytes that were taken, or lost with an error: it grows as long as somebody reads.
  [[nodiscard]] std::uint64_t taken() const;
  // Is called by a commit() that makes more than `full` wait, every time.
  void on_full(std::function<void()> call) { m_on_full = std::move(call); }

  // A descriptor that becomes readable when not more than `bytes` wait; for each such wish once.
  [[nodiscard]] int bell() const;
  void ring_at(std::size_t bytes);
  void silence_bell();

  // What waits is nobody's any more; how much it is goes to stderr.
  void give_up();
  // Waits until all is written; false: nothing has been taken for `patience`.
  bool finish(Duration patience);

 private:
  struct Shared;
  int m_fd;
  std::string m_text;
  std::uint64_t m_committed = 0;
  std::function<void()> m_on_full;
  std::shared_ptr<Shared> m_shared;  // with the thread, which outlives this when nobody reads
  std::thread m_thread;
  bool m_given_up = false;
};

}  // namespace trainstep::log
