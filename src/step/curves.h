// Metric curves as small pictures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "result/metrics.h"

namespace trainstep::step {

// Curves that are drawn in one picture: "loss" and "val_loss", "train_accuracy" and "test_accuracy".
struct CurveGroup {
  struct Line {
    std::string role;  // "training", "validation", "test"; empty when it is the only one
    const result::MetricSeries* series = nullptr;
  };
  std::string title;
  std::vector<Line> lines;
};

// In the order in which the names appeared; the series must outlive the groups.
std::vector<CurveGroup> group_curves(const std::vector<result::MetricSeries>& series);

// An inline SVG with the lines of the group; empty if there is no line to draw: fewer than two finite points, or values whose range overflows. A line
// is interrupted where a value is not finite. Each line is thinned to what the picture can show, its extremes are kept. Colours are the classes
// line-0, line-1, ….
std::string draw(const CurveGroup& group);

}  // namespace trainstep::step
