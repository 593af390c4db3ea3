// Which lines of a log may say something about the training: a look that costs next to nothing, as it is taken at each line of each log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

// What the line has; nothing for nearly all lines of a log.
struct MetricHints {
  bool pairs = false;     // an equals sign
  bool words = false;     // an epoch, or a number of the kind that metrics are, behind a word of metric_words.h
  bool object = false;    // a brace and a colon
  bool keras = false;     // a slash, a colon and " - "
  bool boosting = false;  // begins as a boosting library's line does: "[0]<tab>", "0:<tab>"
  bool header = false;    // may stand over a table: begins with blanks, stars or a line that is drawn
  [[nodiscard]] bool any() const { return pairs || words || object || keras || boosting || header; }
};

MetricHints look_for_metrics(std::string_view line);

}  // namespace trainstep::result
