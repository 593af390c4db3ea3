// The log of a run: trainstep's own lines, by level, and those of the replicas, as text or JSON (docs/adr/0017-the-log.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/redact.h"
#include "base/time.h"
#include "log/level.h"
#include "log/writer.h"

namespace trainstep::log {

class Log {
 public:
  // Writes to `fd`, which remains the caller's. On a terminal the output has colours, unless NO_COLOR is set. `began`: own lines show the time since
  // then.
  Log(int fd, Options options, Time began);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  [[nodiscard]] bool shows(Level level) const;
  // Writes a line of our own, with secrets redacted (base/redact.h) and control characters escaped (base/printable.h), and commits it.
  void write(Time at, Level level, std::string_view text);
  // From now on these texts are redacted, too, also in the output of replicas.
  void hide(const std::vector<std::string>& secrets);
  [[nodiscard]] std::string without_hidden(std::string_view output) const;
  // The result of the run: shown at every level.
  void conclude(Time at, bool succeeded, std::string_view text);
  // Complete lines of a replica's output, each with its newline; written at the next commit().
  void output(Time at, std::string_view replica, std::string_view lines);

  // The last line of a terminal, which is redrawn; empty: none. It is not drawn while the reader is behind.
  void draw(std::string_view text);
  [[nodiscard]] bool terminal() const { return m_terminal; }
  [[nodiscard]] bool colours() const { return m_colours; }

  void commit() { m_writer.commit(); }
  [[nodiscard]] Writer& writer() { return m_writer; }
  // True: nobody reads the log, and the replicas cannot be blocked any longer, so lines beyond the memory limit are dropped; this is reported later.
  void allow_dropping(bool may) { m_may_drop = may; }

 private:
  void write_line(Time at, Level level, std::string_view text);
  void line(Time at, std::string_view source, std::string_view text, bool plain);
  void clear_drawn();
  bool drop(std::string_view lines, bool ours);
  void report_dropped(Time at);

  Writer m_writer;
  Format m_format;
  bool m_terminal, m_colours;
  Level m_level;
  std::vector<std::string> m_secrets;
  std::vector<std::string> m_hidden;         // in the output of replicas
  std::map<std::string, SplitLine> m_split;  // by replica
  Time m_began;
  bool m_drawn = false;
  bool m_may_drop = false;
  std::size_t m_dropped = 0;  // number of lines
  struct Own;
  std::unique_ptr<Own> m_own;  // spdlog's logger
};

}  // namespace trainstep::log
