// SPDX-License-Identifier: Apache-2.0
#include "step/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/python_json.h"
#include "data/tree.h"
#include "result/metrics_output.h"
#include "spec/reported_location.h"
#include "spec/returned.h"
#include "step/given.h"
#include "step/number_text.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_inline_text_length = 4096;
constexpr std::size_t max_listed_names = 12;

// "a, b and 3 more".
std::string listed(std::vector<std::string> names) {
  const auto more = names.size() - std::min(names.size(), max_listed_names);
  names.resize(names.size() - more);
  return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

// In the order of their first appearance, found by name.
class MetricList {
 public:
  [[nodiscard]] const result::Metric* find(const std::string& name) const {
    const auto found = m_places.find(name);
    return found == m_places.end() ? nullptr : &m_metrics[found->second];
  }
  void put(result::Metric metric) {
    const auto [place, added] = m_places.try_emplace(metric.name, m_metrics.size());
    if (added)
      m_metrics.push_back(std::move(metric));
    else
      m_metrics[place->second] = std::move(metric);
  }
  // Also if there is one of that name.
  void append(result::Metric metric) {
    m_places.try_emplace(metric.name, m_metrics.size());
    m_metrics.push_back(std::move(metric));
  }
  [[nodiscard]] const std::vector<result::Metric>& metrics() const { return m_metrics; }

 private:
  std::vector<result::Metric> m_metrics;
  std::unordered_map<std::string, std::size_t> m_places;
};

void put_written(MetricList& metrics, const run::OutputFound& output, const FileReader& read_file) {
  if (output.metadata.is_object())
    for (const auto& [name, value] : output.metadata.items())
      if (const auto number = result::metric_value(value)) metrics.put({.name = name, .value = *number, .percentage = false});
  if (!output.artifact)
    if (const auto text = metrics_text(output))
      if (auto read = result::read_metrics(*text, output.name))
        for (auto& metric : *read) metrics.put(std::move(metric));
  if (!output.artifact || output.path.empty() || output.earlier || output.no_file) return;
  const auto text = read_file(output.path, max_metrics_file_size);
  if (!text) return;
  if (auto read = result::read_metrics(*text, output.name))
    for (auto& metric : *read) metrics.put(std::move(metric));
}

bool has_metrics(const run::OutputFound& output) { return output.metrics || names_metrics(output.name) || names_metrics(output.step_path); }

// If several outputs have a metric of one name, the step's own file comes first; other values are named after their outputs, eval_metrics/acc.
MetricList written_metrics(const run::Outcome& outcome, const FileReader& read_file) {
  std::vector<const run::OutputFound*> outputs;
  for (const auto& output : outcome.outputs)
    if (output.present && has_metrics(output)) outputs.push_back(&output);
  std::ranges::stable_partition(outputs, [](const run::OutputFound* output) { return names_metrics(output->step_path); });
  MetricList metrics;
  for (const auto* output : outputs) {
    MetricList own;
    put_written(own, *output, read_file);
    for (auto metric : own.metrics()) {
      const auto* same = metrics.find(metric.name);
      const bool differs = same != nullptr && same->value != metric.value && !(std::isnan(same->value) && std::isnan(metric.value));
      if (differs) metric.name = output->name + '/' + metric.name;
      if (differs || same == nullptr) metrics.append(std::move(metric));
    }
  }
  return metrics;
}

// A Float that the program returned under a name. Integers are counts.
bool is_returned_metric(const run::OutputFound& output) {
  constexpr std::string_view unnamed = "Output";  // the name that both SDKs give to the single value of a Python function
  return output.present && !output.artifact && output.value && output.floating && output.value->is_number() && output.name != unnamed &&
         !names_metrics(output.name);
}

// Text that a person or a parameter could hold: UTF-8, no control characters but newlines and tabs.
bool is_plain_text(std::string_view bytes) {
  return spec::is_text(bytes) &&
         std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r'; });
}

// The address that the program gives takes precedence.
std::string address_of(const run::OutputFound& output, const Inputs& inputs) {
  if (spec::parse_reported_location(output.path).address) return output.path;
  for (const auto& target : inputs.targets)
    if (target.name == output.step_path && !target.uri.empty()) return target.uri;
  return output.path;
}

}  // namespace

std::optional<std::string> metrics_text(const run::OutputFound& value) {
  if (!value.value) return std::nullopt;
  auto text = value.value->is_string() ? value.value->get<std::string>() : to_python_text(*value.value);
  return result::read_metrics(text, value.name) ? std::optional(std::move(text)) : std::nullopt;
}

bool names_metrics(std::string_view output) { return lower(output).ends_with("metrics"); }

std::vector<result::MetricSeries> curves_of(const run::Outcome& outcome) {
  auto curves = outcome.series;
  const auto known = curves.size();
  const auto find = [&curves](std::string_view name) { return std::ranges::find(curves, name, &result::MetricSeries::name); };
  for (const auto& output : outcome.outputs)
    for (const auto& curve : output.curves) {
      const auto same = find(curve.name);
      const bool in_log = same != curves.end() && static_cast<std::size_t>(same - curves.begin()) < known;
      if (same == curves.end()) {
        curves.push_back(curve);
      } else if (in_log && same->points.size() < 2) {
        *same = curve;
      } else if (auto name = output.name + '/' + curve.name; !in_log && find(name) == curves.end()) {
        curves.push_back(curve);
        curves.back().name = std::move(name);
      }
    }
  return curves;
}

std::vector<result::Metric> final_metrics(const run::Outcome& outcome, const FileReader& read_file) {
  const auto written = written_metrics(outcome, read_file);
  auto metrics = written;
  for (const auto& series : outcome.series)
    if (!series.points.empty()) metrics.put({.name = series.name, .value = series.points.back().value, .percentage = false});
  for (const auto& output : outcome.outputs)
    if (is_returned_metric(output)) metrics.put({.name = output.name, .value = output.value->get<double>(), .percentage = false});
  for (const auto& metric : written.metrics()) metrics.put(metric);
  for (const auto& curve : curves_of(outcome))
    if (!curve.points.empty() && metrics.find(curve.name) == nullptr)
      metrics.append({.name = curve.name, .value = curve.points.back().value, .percentage = false});
  return metrics.metrics();
}

std::vector<std::string> unread_metrics(const run::Outcome& outcome, const FileReader& read_file) {
  std::vector<std::string> sentences;
  for (const auto& output : outcome.outputs) {
    if (!has_metrics(output) || !output.present || !output.artifact || output.path.empty() || output.earlier) continue;
    if (output.no_file) {
      sentences.push_back(fmt::format("{}: what the program wrote is a folder, expected a file; ignoring its metrics", output.name));
      continue;
    }
    const auto text = read_file(output.path, max_metrics_file_size);
    if (!text && text.error().kind == ErrorKind::input) {
      sentences.push_back(fmt::format("{}: {}; ignoring its metrics", output.name, text.error().message));
    } else if (text && !trim(*text).empty() && names_metrics(output.step_path)) {
      if (const auto read = result::read_metrics(*text, output.name); !read)
        sentences.push_back(read.error().message + "; the file is left as the program wrote it, without the metrics from the log");
    }
  }
  return sentences;
}

std::vector<std::string> other_members(const run::Outcome& outcome, const FileReader& read_file) {
  std::vector<std::string> sentences;
  for (const auto& output : outcome.outputs) {
    if (!output.present || output.earlier || output.no_file || !(names_metrics(output.name) || names_metrics(output.step_path))) continue;
    auto text = metrics_text(output);
    if (output.artifact && !output.path.empty())
      if (auto written = read_file(output.path, max_metrics_file_size)) text = std::move(*written);
    if (!text || !result::read_metrics(*text, output.name)) continue;
    const auto besides = result::members_besides_metrics(*text);
    std::vector<std::string> kept, omitted;
    for (auto& name : result::members_without_number(*text)) {
      const bool stays = output.step_path.empty() || (output.step_path == "metrics" && besides.contains(name));
      (stays ? kept : omitted).push_back(std::move(name));
    }
    for (auto& [names, end] : {std::pair(&kept, "in the file, but not among the metrics"), std::pair(&omitted, "omitted from the file")})
      if (const bool one = names->size() == 1; !names->empty())
        sentences.push_back(fmt::format("{}: {} {}: {}", output.name, listed(*names), one ? "is not a number" : "are not numbers", end));
  }
  return sentences;
}

bool has_model(const run::Outcome& outcome) {
  return std::ranges::any_of(outcome.outputs,
                             [](const run::OutputFound& o) { return o.artifact && o.step_path == "model_dir" && o.present && !o.earlier; });
}

Json metrics_object(const std::vector<result::Metric>& metrics) {
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& metric : metrics)
    if (std::isfinite(metric.value)) members.emplace_back(metric.name, metric.value);
  return make_object(std::move(members));
}

Json all_metrics(const std::vector<result::Metric>& metrics) {
  std::vector<std::pair<std::string, Json>> members;
  members.reserve(metrics.size());
  for (const auto& metric : metrics) members.emplace_back(metric.name, metric.value);
  return make_object(std::move(members));
}

std::optional<std::string> left_out_metrics(const StepSummary& summary) {
  const auto leaves_out = [&](const OutputTarget& target) {
    return !target.path.empty() && (target.name == "mlpipeline_metrics" || (target.name == "metrics" && !summary.inputs.python_json));
  };
  std::vector<std::string> names;
  for (const auto& metric : summary.metrics)
    if (!std::isfinite(metric.value)) names.push_back(fmt::format("{}={}", metric.name, number_text(metric.value)));
  if (names.empty() || std::ranges::none_of(summary.inputs.targets, leaves_out)) return std::nullopt;
  const bool one = names.size() == 1;
  return fmt::format("metrics: {} {} omitted from the file: {}", listed(std::move(names)), one ? "is" : "are",
                     one ? "not a valid JSON number" : "not valid JSON numbers");
}

Json results_object(const run::Outcome& outcome, const Inputs& inputs, const FileReader& read_file) {
  auto object = Json::object();
  for (const auto& output : outcome.outputs) {
    auto& entry = object[output.name];
    if (output.value) {
      entry = *output.value;
    } else if (output.present && output.artifact && output.earlier && output.step_path.empty()) {
      entry = output.metadata;
    } else if (output.present && !output.path.empty()) {
      entry = address_of(output, inputs);
      if (!output.artifact || !output.step_path.empty()) continue;
      if (const auto text = read_file(output.path, max_inline_text_length); text && is_plain_text(*text)) entry = *text;
    }
  }
  return object;
}

}  // namespace trainstep::step
