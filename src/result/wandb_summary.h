// Parses the last values of a run as Weights & Biases prints them at its end.
//   wandb: Run summary:
//   wandb:      accuracy 0.91
//   wandb: train/loss_cls 0.05741
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

struct MetricLine;

// They are rounded, and may be the best values of a run (define_metric(summary="min")): a value counts only under a name of a metric that the log has
// not given (MetricLine::if_new).
class WandbSummary {
 public:
  // Whether the line is part of the summary. `text` is clean.
  bool read(std::string_view text, MetricLine& line);
  [[nodiscard]] static bool may_read(std::string_view line) { return line.starts_with("wandb: "); }

 private:
  bool m_inside = false;
};

}  // namespace trainstep::result
