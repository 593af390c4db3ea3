// How a step ended, with everything a report may want to tell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "follow/event.h"
#include "result/metrics.h"
#include "result/timeline.h"
#include "result/verdict.h"
#include "run/backend.h"

namespace trainstep::run {

// One replica's life, its last attempt counts.
struct MemberReport {
  std::string name;                           // "worker-1"
  std::string place;                          // "pid 4711", a node's name; empty: never started
  int attempts = 0;                           // 0: never started
  std::optional<follow::Termination> ending;  // unset: never ended by itself or unknown
  bool stopped_by_us = false;                 // its end is no failure
  std::optional<Time> started, ended;
};

struct Outcome {
  result::Verdict verdict;
  result::Timeline timeline;
  Time started, ended;
  std::vector<MemberReport> members;
  std::vector<result::MetricSeries> series;  // from the primary's log, by name
  std::vector<OutputFound> outputs;          // empty unless the training succeeded
};

}  // namespace trainstep::run
