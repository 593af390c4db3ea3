// Who wants to know how a run goes: the console, Argo's progress file, tests.
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
  // A line of the story.
  virtual void say(Time /*at*/, const std::string& /*text*/) {}
  // One that tells of something going wrong.
  virtual void warn(Time at, const std::string& text) { say(at, text); }
  // Whole lines of one member's output, each with its newline.
  virtual void output(Time /*at*/, const std::string& /*member*/, std::string_view /*lines*/) {}
  // The line that a member has begun and not ended, as far as it is there: a bar that is drawn anew.
  virtual void unfinished(Time /*at*/, const std::string& /*member*/, std::string_view /*line*/) {}
  // Epochs done, of how many.
  virtual void progress(Time /*at*/, int /*done*/, int /*of*/) {}
  // The run begins, with this machine; and every event, before it is handled: for a record.
  virtual void begins(const follow::RunState& /*machine*/, Time /*at*/) {}
  virtual void event(const follow::Event& /*event*/) {}
  // What was decided upon it; empty: nothing.
  virtual void decided(const follow::Event& /*event*/, const std::vector<follow::Action>& /*actions*/, const follow::Rules& /*rules*/) {}
  // After each event: for a live line. `latest` are the newest metrics.
  virtual void state(Time /*at*/, const result::Timeline& /*timeline*/, const result::MetricReader& /*metrics*/) {}
};

}  // namespace trainstep::run
