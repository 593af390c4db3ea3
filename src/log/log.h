// The log of a run as lines: those of trainstep itself, by level, and those of the replicas, as text or as JSON (docs/adr/0017-the-log.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "log/level.h"
#include "log/writer.h"

namespace trainstep::log {

class Log {
 public:
  // Writes to `fd`, which stays the caller's. A terminal gets colours, unless NO_COLOR is set. `began`: the story's lines tell the time since.
  Log(int fd, Options options, Time began);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  [[nodiscard]] bool shows(Level level) const;
  // A line of ours, without secrets (base/redact.h); whatever is in it stays within it (base/printable.h). It is on its way at once.
  void say(Time at, Level level, std::string_view text);
  // What the run came to: shown at every level.
  void conclude(Time at, bool succeeded, std::string_view text);
  // Whole lines of a replica's output, each with its newline; on their way with the next commit().
  void output(Time at, std::string_view replica, std::string_view lines);

  // A terminal's last line, which is drawn anew; empty: none. It is left out while anything waits for the reader.
  void draw(std::string_view text);
  [[nodiscard]] bool terminal() const { return m_terminal; }
  [[nodiscard]] bool colours() const { return m_colours; }

  void commit() { m_writer.commit(); }
  [[nodiscard]] Writer& writer() { return m_writer; }
  // Nobody reads, and the replicas may not be held up any longer: what is too much for the memory is left out, and said later.
  void may_leave_out(bool may) { m_may_leave_out = may; }

 private:
  void write(Time at, Level level, std::string_view text);
  void line(Time at, std::string_view source, std::string_view text, bool plain);
  void clear_drawn();
  bool leave_out(std::string_view lines, bool ours);
  void tell_left_out(Time at);

  Writer m_writer;
  Format m_format;
  bool m_terminal, m_colours;
  Level m_level;
  std::vector<std::string> m_secrets;
  Time m_began;
  bool m_drawn = false;
  bool m_may_leave_out = false;
  std::size_t m_left_out = 0;  // lines
  struct Own;
  std::unique_ptr<Own> m_own;  // spdlog's
};

}  // namespace trainstep::log
