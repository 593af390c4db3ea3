// Parses the table that pycocotools prints for a detector: COCOeval.summarize().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::result {

struct MetricLine;

// Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.512
// is AP@0.50:0.95_area_all_maxDets_100: a row contains everything that makes up its name. The kind of result (bbox, segm, keypoints) is prepended if
// an earlier line of the log has named it: "Evaluate annotation type *bbox*", "IoU metric: bbox". A value of -1 means that there is none: no object
// has that area.
class CocoSummary {
 public:
  // Whether the line is a row, or names the kind of the rows below.
  bool read(std::string_view text, MetricLine& line);
  // Cheap pre-check.
  [[nodiscard]] static bool may_read(std::string_view line);

 private:
  std::string m_kind;
};

}  // namespace trainstep::result
