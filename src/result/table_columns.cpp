// SPDX-License-Identifier: Apache-2.0
#include "result/table_columns.h"

#include <algorithm>

#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {

std::string column_name(std::string_view label) {
  if (label.ends_with("):")) label.remove_suffix(1);
  if (label.ends_with(')')) label.remove_suffix(1);
  std::string name(label);
  std::ranges::replace(name, ' ', '_');
  return is_measured_name(name) ? plain_name(name) : std::string();
}

bool names_metric(std::string_view column) {
  const auto last = column.rfind('_');
  return metric_kind(column) != MetricKind::none && (last == std::string_view::npos || !names_setting(column.substr(last + 1)));
}

}  // namespace trainstep::result
