// SPDX-License-Identifier: Apache-2.0
#include "result/keras_progress.h"

#include "base/text.h"
#include "result/metric_text.h"

namespace trainstep::result {

bool begins_with_count(std::string_view text) {
  const auto count = text.substr(0, text.find(' '));
  const auto slash = count.find('/');
  if (text.size() > count.size() + 1 && is_digit(text[count.size() + 1])) return false;
  return slash != 0 && slash != std::string_view::npos && count.find_first_not_of("0123456789/") == std::string_view::npos;
}

bool read_keras(std::string_view text, MetricLine& line) {
  auto rest = trim(text);
  if (!begins_with_count(rest)) return false;
  const auto count = rest.substr(0, rest.find(' '));
  const auto slash = count.find('/');
  if (count.substr(0, slash) != count.substr(slash + 1)) return false;  // values within an epoch are not final
  for (auto at = rest.find(" - "); at != std::string_view::npos;) {
    rest.remove_prefix(at + 3);
    at = rest.find(" - ");
    const auto part = trim(rest.substr(0, at));
    const auto colon = part.find(": ");
    if (colon == std::string_view::npos || !is_measured_name(part.substr(0, colon))) continue;
    auto number = trim(part.substr(colon + 2));
    if (const auto value = take_number(number); value && number.empty()) line.metrics.push_back({plain_name(part.substr(0, colon)), *value, false});
  }
  line.of_epoch = !line.metrics.empty();
  return line.of_epoch;
}

}  // namespace trainstep::result
