// Which lines of a log may say something about the training: a look that costs next to nothing, as it is taken at each line of each log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

enum class Hint : unsigned {
  pairs = 1U,      // an equals sign
  words = 2U,      // an epoch, or a number of the kind that metrics are, behind a word of metric_words.h
  object = 4U,     // a brace and a colon
  keras = 8U,      // may be a bar: a slash, a colon and " - ", or something else that is worth a look
  boosting = 16U,  // begins as a boosting library's line does: "[0]<tab>", "0:<tab>"
  header = 32U,    // may stand over a table: begins with blanks, stars or a line that is drawn
};

// What a line has; nothing for nearly all lines of a log.
class MetricHints {
 public:
  [[nodiscard]] bool any() const { return m_bits != 0; }
  [[nodiscard]] bool has(Hint hint) const { return (m_bits & static_cast<unsigned>(hint)) != 0; }
  void add(Hint hint, bool found) { m_bits |= found ? static_cast<unsigned>(hint) : 0U; }

 private:
  unsigned m_bits = 0;
};

MetricHints look_for_metrics(std::string_view line);

// "[0]<tab>", "0:<tab>"
bool begins_as_boosting(std::string_view line);

}  // namespace trainstep::result
