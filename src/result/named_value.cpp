// SPDX-License-Identifier: Apache-2.0
#include "result/named_value.h"

#include <array>
#include <cmath>
#include <string>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {

Meaning meaning_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> steps{"step", "steps", "iter", "iteration", "batch", "global_step"};
  constexpr std::array<std::string_view, 5> totals{"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs"};
  constexpr std::array<std::string_view, 3> others{"v_num", "min_delta", "n_jobs"};  // printed by Lightning, its EarlyStopping, joblib
  const auto plain = lower(name);
  if (plain == "epoch") return Meaning::epoch;
  if (one_of(plain, steps)) return Meaning::step;
  if (one_of(plain, totals)) return Meaning::epochs;
  return one_of(plain, others) ? Meaning::nothing : Meaning::metric;
}

bool tells_result(std::string_view name) {
  const auto kind = metric_kind(name);
  return kind == MetricKind::usual || kind == MetricKind::result;
}

std::optional<std::int64_t> whole(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

void add_value(MetricLine& line, std::string_view name, double value, std::optional<double> of) {
  const auto meaning = meaning_of(name);
  if (meaning == Meaning::metric && !of) line.metrics.push_back({std::string(name), value, false});
  if (meaning == Meaning::epochs) line.progress.epochs = whole(value);
  if (meaning == Meaning::step) line.step = value;
  if (meaning != Meaning::epoch) return;
  line.epoch = value;
  line.progress.epoch = whole(value);
  if (of) line.progress.epochs = whole(*of);
}

void put_value(MetricLine& line, std::string_view name, double value, std::optional<double> of) {
  const auto meaning = meaning_of(name);
  if (meaning != Meaning::metric && meaning != Meaning::nothing) return add_value(line, name, value, of);
  if (!of || *of > 0) line.metrics.push_back({std::string(name), of ? value / *of : value, false});
}

void drop_value(MetricLine& line, std::string_view name) {
  const auto meaning = meaning_of(name);
  if (meaning == Meaning::step) line.step.reset();
  if (meaning == Meaning::epochs) line.progress.epochs.reset();
  if (meaning == Meaning::epoch) line.epoch.reset(), line.progress = {}, line.of_epoch = false;
  for (auto* metrics : {&line.metrics, &line.if_new}) std::erase_if(*metrics, [&](const Metric& metric) { return metric.name == name; });
}

std::optional<double> take_member(std::string_view& rest, bool& quoted) {
  const char quote = rest.empty() ? ' ' : rest.front();
  if (quote != '\'' && quote != '"') return take_scalar(rest);
  rest.remove_prefix(1);
  const auto value = take_number(rest);
  if (!value || !rest.starts_with(quote)) return std::nullopt;
  rest.remove_prefix(1);
  quoted = true;
  return value;
}

}  // namespace trainstep::result
