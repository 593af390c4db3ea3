// Bytes of a pipe → whole lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/longest_line.h"
#include "base/poll_loop.h"

namespace trainstep::process {

// Takes bytes as they come; gives back as many whole lines as they make, each with its newline. A line that has grown beyond longest_line without an
// end is cut; one that is drawn anew behind carriage returns keeps its last state.
class LineAssembler {
 public:
  // Where the next bytes are to be written; never empty.
  std::span<char> space();
  // `count` bytes have been written there. The lines are valid until the next call; empty when no line is complete.
  std::string_view add(std::size_t count);
  // What is left, with a newline; empty when nothing is.
  std::string_view finish();
  // The line that has begun and not ended, as far as it is there; valid as the lines are.
  [[nodiscard]] std::string_view unfinished() const { return {m_buffer.get() + m_begin, m_end - m_begin}; }

 private:
  std::string_view cut();

  std::unique_ptr<char[]> m_buffer;
  std::size_t m_capacity = 0;
  std::size_t m_begin = 0;  // of the unfinished line
  std::size_t m_end = 0;    // of the bytes
};

// Reads a pipe or FIFO on the loop; a chunk at a time, so that many pipes get the same attention.
class OutputReader {
 public:
  using Lines = std::function<void(std::string_view lines)>;

  // `pipe` must not block. `ended` is called once, from the loop, when everybody has closed the other end; it may destroy the reader.
  OutputReader(PollLoop& loop, Fd pipe, Lines lines, std::function<void()> ended);
  ~OutputReader();
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  // Called with the line that has begun and not ended, whenever there is more of it.
  void on_unfinished(Lines call) { m_unfinished = std::move(call); }

  [[nodiscard]] bool open() const { return static_cast<bool>(m_pipe); }
  // While it is held nothing is read on the loop: the pipe fills, and whoever writes to it waits.
  void hold(bool held);
  // Reads what is there now, whether it is held or not; `ended` is not called.
  void take_all();
  // Reads a chunk now, as the loop does when there is something. A FIFO that nobody has opened for writing is at its end.
  void read();
  // Hands over what is in the pipe now, ends the last line and closes. `ended` is not called.
  void drain();

 private:
  enum class Step { more, empty, end };
  Step read_chunk();
  void listen();
  void close();

  PollLoop& m_loop;
  Fd m_pipe;
  Lines m_lines;
  Lines m_unfinished;
  bool m_held = false;
  std::function<void()> m_ended;
  LineAssembler m_assembler;
};

}  // namespace trainstep::process
