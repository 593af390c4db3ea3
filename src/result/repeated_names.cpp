// SPDX-License-Identifier: Apache-2.0
#include "result/repeated_names.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <string>

#include "result/metric_text.h"
#include "result/named_value.h"

namespace trainstep::result {
namespace {

bool is_other(double value, double than) { return value != than && !(std::isnan(value) && std::isnan(than)); }

}  // namespace

void tell_apart(std::string_view text, MetricLine& line) {
  auto& metrics = line.metrics;
  auto& pairs = line.pairs;
  if (metrics.size() > max_in_line || pairs.size() != metrics.size()) return;  // of more the last ones count
  std::bitset<max_in_line> several;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (metrics[i].name == metrics[j].name) several.set(i).set(j);
  bool overlaps = false;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (!several[i]) continue;
    auto& name = metrics[i].name;
    const auto overlap = text.rfind("IoU=", pairs[i].begin);
    if (overlap >= pairs[i].begin) {
      prepend_words(pairs[i].label, name);
      continue;
    }
    overlaps = true;
    const auto bound = text.substr(overlap + 4);
    name.append("@").append(bound.substr(0, bound.find_first_not_of("0123456789.:")));
    while (name.ends_with(':') || name.ends_with('@')) name.pop_back();
  }
  if (overlaps) drop_value(line, "IoU");
  for (std::size_t i = 0; i < metrics.size();) {
    const auto& [name, value, percentage] = metrics[i];
    if (std::ranges::any_of(metrics, [&](const Metric& other) { return other.name == name && is_other(other.value, value); }))
      drop_value(line, std::string(name));
    else
      ++i;
  }
}

}  // namespace trainstep::result
