// How a step ended, with everything that a report may show.
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

// One replica; only its last attempt counts.
struct MemberReport {
  std::string name;                           // "worker-1"
  std::string ran_on;                         // "pid 4711", the name of a node; empty: never started
  int attempts = 0;                           // 0: never started
  std::optional<follow::Termination> ending;  // unset: unknown, or it never ended by itself
  bool stopped_by_us = false;                 // its end is not a failure
  std::optional<Time> started, ended;
};

struct Outcome {
  result::Verdict verdict;
  result::Timeline timeline;
  Time started, ended;
  std::vector<MemberReport> members;
  std::vector<result::MetricSeries> series;  // from the log of the primary replica, by name
  std::vector<OutputFound> outputs;          // empty unless the training succeeded
};

}  // namespace trainstep::run
