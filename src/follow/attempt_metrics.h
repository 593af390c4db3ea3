// Decides which attempt of the primary the metrics of a run are those of: the latest one, unless it did nothing. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "follow/event.h"
#include "follow/rules.h"
#include "result/metrics.h"

namespace trainstep::follow {

class AttemptMetrics {
 public:
  // `rules` must outlive it.
  explicit AttemptMetrics(const Rules& rules);
  // An attempt of this member starts. If it runs the primary, only its metrics count from now on: those of the attempt before belong to no existing
  // model. `attempt`: names the output that counts, as in MemberOutput.
  void begin(MemberIndex member, std::string_view attempt);
  // The latest attempt did nothing: the metrics of the one before count again. `unseen`: no earlier attempt was followed; `doubtful`: that one has no
  // metrics, and may not be the one that trained to the end.
  enum class Resumed { unseen, doubtful, well };
  Resumed resume();
  // Which reader takes the lines of this output; null: they are of no attempt whose metrics may count.
  [[nodiscard]] result::MetricReader* reader_for(const MemberOutput& output);
  // Those that count.
  [[nodiscard]] const result::MetricReader& counted() const { return m_metrics; }
  // What is to be told, after a success, of metric definitions that matched nothing in the attempt whose metrics count.
  [[nodiscard]] std::vector<std::string> unmatched() const;

 private:
  const Rules& m_rules;
  bool m_rank_inside;
  std::string m_metrics_of;  // the attempt; empty: there is only one at a time
  result::MetricReader m_metrics;
  std::string m_metrics_before_of;  // the attempt before it; empty: none was followed
  result::MetricReader m_metrics_before;
  bool m_metrics_dropped = false;  // of an attempt before both
};

}  // namespace trainstep::follow
