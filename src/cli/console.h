// The log of a run for whoever reads it: a person at a terminal (with a live last line), a pod's log (plain lines), or a machine (JSON lines).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/loop.h"
#include "run/listener.h"

namespace trainstep::cli {

enum class LogFormat { text, json };

// What the live line says: "running · epoch 3/10 · loss=0.1234 · 1 min 20 s · about 3 min 06 s left", cut to `width` columns.
std::string live_line(const result::Timeline& timeline, const result::MetricReader& metrics, Time now, std::size_t width);

// The time left by the pace of the epochs so far; nothing before the first epoch has passed or without a known end.
std::optional<Duration> time_left(const result::Progress& progress, Duration running);

class Console : public run::Listener {
 public:
  // Writes to `fd`, which stays the caller's. A terminal gets the live line and colours (unless NO_COLOR is set).
  Console(Loop& loop, int fd, LogFormat format);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() override;

  void say(Time at, const std::string& text) override;
  void output(Time at, const std::string& member, std::string_view lines) override;
  void progress(Time at, int done, int of) override;
  void state(Time at, const result::Timeline& timeline, const result::MetricReader& metrics) override;

  // Takes the live line away and writes out what is left.
  void finish();

 private:
  void line(Time at, std::string_view source, std::string_view text);
  void refresh_later();
  void draw_live_line();
  void flush();

  Loop& m_loop;
  int m_fd;
  LogFormat m_format;
  bool m_terminal;
  bool m_colours;
  bool m_broken = false;  // nobody reads any more
  Time m_began;
  std::string m_buffer;
  bool m_live_shown = false;
  std::optional<Loop::TimerId> m_refresh;
  std::optional<Time> m_last_status;
  bool m_status_due = false;
  result::Timeline m_timeline;
  const result::MetricReader* m_metrics = nullptr;
};

// ARGO_PROGRESS_FILE: "N/M", the form Argo's executor reads.
class ProgressFile : public run::Listener {
 public:
  explicit ProgressFile(std::string path) : m_path(std::move(path)) {}
  void progress(Time at, int done, int of) override;

 private:
  std::string m_path;
};

}  // namespace trainstep::cli
