// Splits the bytes of a pipe into lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/max_line_length.h"
#include "base/poll_loop.h"

namespace trainstep::process {

// Takes bytes as they arrive and returns the complete lines so far, each with its newline. A line longer than max_line_length is cut; of one redrawn
// with carriage returns the last state is kept.
class LineAssembler {
 public:
  // Where to write the next bytes; never empty.
  std::span<char> space();
  // `count` bytes were written to space(). Returns the complete lines, valid until the next call; empty if there are none.
  std::string_view add(std::size_t count);
  // The rest, with a newline; empty if there is none.
  std::string_view finish();
  // The beginning of a line that has not ended yet; valid as long as the lines.
  [[nodiscard]] std::string_view unfinished() const { return {m_buffer.get() + m_begin, m_end - m_begin}; }

 private:
  std::string_view cut();

  std::unique_ptr<char[]> m_buffer;
  std::size_t m_capacity = 0;
  std::size_t m_begin = 0;  // start of the unfinished line
  std::size_t m_end = 0;    // end of the bytes
};

// Reads a pipe or FIFO on the loop; one chunk at a time, so that many pipes are served equally.
class OutputReader {
 public:
  using Lines = std::function<void(std::string_view lines)>;

  // `pipe` must be non-blocking. `ended` is called once, from the loop, at end of file (all writers have closed it); it may destroy the reader.
  OutputReader(PollLoop& loop, Fd pipe, Lines lines, std::function<void()> ended);
  ~OutputReader();
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  // Sets a callback for the beginning of a line that has not ended yet, called whenever there is more of it.
  void on_unfinished(Lines call) { m_unfinished = std::move(call); }

  [[nodiscard]] bool open() const { return static_cast<bool>(m_pipe); }
  // While held, nothing is read on the loop: the pipe fills up, and its writers block.
  void hold(bool held);
  // Reads what is available now, even while held; `ended` is not called.
  void take_all();
  // Reads one chunk now, as the loop does when the pipe is readable. A FIFO without writers is at end of file.
  void read();
  // Reads what is in the pipe now, terminates the last line and closes the pipe. `ended` is not called.
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
