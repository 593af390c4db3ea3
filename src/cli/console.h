// Prints the log of a run: its own lines, the output of replicas, and its progress – on a terminal as a status line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/loop.h"
#include "log/log.h"
#include "run/listener.h"

namespace trainstep::cli {

// The status line: "running · epoch 3/10 · loss=0.1234 · 1 min 20 s · about 3 min 06 s left", cut to `width` columns.
std::string live_line(const result::Timeline& timeline, const result::MetricReader& metrics, Time now, std::size_t width);

// The remaining time at the pace of the epochs so far; nullopt before the first epoch has ended, or without a known end.
std::optional<Duration> time_left(const result::Progress& progress, Duration running);

class Console : public run::Listener {
 public:
  Console(Loop& loop, log::Log& log);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() override;

  void info(Time at, const std::string& text) override { m_log.write(at, log::Level::info, text); }
  void warn(Time at, const std::string& text) override { m_log.write(at, log::Level::warning, text); }
  void hide(const std::vector<std::string>& secrets) override { m_log.hide(secrets); }
  void output(Time at, const std::string& member, std::string_view lines) override;
  void unfinished(Time at, const std::string& member, std::string_view line) override;
  void progress(Time at, int done, int of) override;
  void decided(const follow::Event& event, const std::vector<follow::Action>& actions, const follow::Rules& rules) override;
  void state(Time at, const result::Timeline& timeline, const result::MetricReader& metrics) override;

  // Removes the status line: the last lines of the log follow.
  void finish();

 private:
  void refresh_later();
  void draw();
  [[nodiscard]] std::string drawn() const;

  // A line that a replica redraws with carriage returns before it ends.
  struct Bar {
    std::string member, text;
    Time at;
  };

  Loop& m_loop;
  log::Log& m_log;
  Timer m_refresh;
  std::optional<Time> m_last_status;
  bool m_status_due = false;
  std::optional<Bar> m_bar;
  result::Timeline m_timeline;
  const result::MetricReader* m_metrics = nullptr;
};

// ARGO_PROGRESS_FILE: "N/M", as Argo's executor reads it.
class ProgressFile : public run::Listener {
 public:
  explicit ProgressFile(std::string path) : m_path(std::move(path)) {}
  void progress(Time at, int done, int of) override;

 private:
  std::string m_path;
};

}  // namespace trainstep::cli
