// Receives the progress of a run: the console, Argo's progress file, tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "follow/run_state.h"
#include "result/metrics.h"
#include "result/timeline.h"

namespace trainstep::run {

class Listener {
 public:
  virtual ~Listener() = default;
  // A line for the log.
  virtual void info(Time /*at*/, const std::string& /*text*/) {}
  // A line for the log about a problem.
  virtual void warn(Time at, const std::string& text) { info(at, text); }
  // Texts that nobody may see: from now on they are left out of everything that the listener writes.
  virtual void hide(const std::vector<std::string>& /*secrets*/) {}
  // Nothing more is asked of the API server at that origin ("https://host:6443"), whether it has answered or not.
  virtual void leaves(const std::string& /*origin*/) {}
  // Complete lines of a member's output, each with its newline.
  virtual void output(Time /*at*/, const std::string& /*member*/, std::string_view /*lines*/) {}
  // The line that a member has started but not ended, so far: a progress bar that is redrawn.
  virtual void unfinished(Time /*at*/, const std::string& /*member*/, std::string_view /*line*/) {}
  // Epochs completed, and their total.
  virtual void progress(Time /*at*/, int /*done*/, int /*of*/) {}
  // The run starts, with this state machine. After that, every event before it is handled; for the record.
  virtual void begins(const follow::RunState& /*machine*/, Time /*at*/) {}
  virtual void event(const follow::Event& /*event*/) {}
  // The actions that the event led to; empty: none.
  virtual void decided(const follow::Event& /*event*/, const std::vector<follow::Action>& /*actions*/, const follow::Rules& /*rules*/) {}
  // After each event, for a status line. `latest` are the latest metrics.
  virtual void state(Time /*at*/, const result::Timeline& /*timeline*/, const result::MetricReader& /*metrics*/) {}
};

}  // namespace trainstep::run
