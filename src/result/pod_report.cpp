// SPDX-License-Identifier: Apache-2.0
#include "result/pod_report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "data/fields.h"
#include "data/python_json.h"
#include "result/tensorboard_curves.h"

namespace trainstep::result {
namespace {

constexpr std::string_view mark = "trainstep_report";
constexpr int version = 1;

// [[step, value, Unix time in seconds], …]
Json to_json(const MetricSeries& series) {
  constexpr double exact = 9007199254740992;
  auto points = Json::array();
  for (const auto& [x, value, time] : series.points) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    points.push_back({std::abs(x) < exact ? Json(static_cast<std::int64_t>(x)) : Json(x), value, seconds});
  }
  return {{"name", series.name}, {"points", std::move(points)}};
}

// Malformed curves are dropped: they must not fail a training run.
std::optional<MetricSeries> read_curve(const Json& json) {
  constexpr std::size_t max_points = 4'000;
  constexpr std::int64_t latest = 100'000'000'000;
  const auto* name = find(json, "name");
  const auto* points = find(json, "points");
  if (name == nullptr || !name->is_string() || points == nullptr || !points->is_array() || points->empty() || points->size() > max_points)
    return std::nullopt;
  MetricSeries series{.name = name->get<std::string>(), .axis = MetricSeries::Axis::step, .points = {}};
  for (const auto& point : *points) {
    if (!point.is_array() || point.size() != 3 || !point[0].is_number() || !point[1].is_number() || !point[2].is_number_integer())
      return std::nullopt;
    const auto seconds = std::clamp<std::int64_t>(point[2].get<std::int64_t>(), -latest, latest);
    series.points.push_back({point[0].get<double>(), point[1].get<double>(), Time(std::chrono::seconds(seconds))});
  }
  return series;
}

std::vector<MetricSeries> read_curves(const Json& output) {
  constexpr std::size_t max_curves = 2'000;
  std::vector<MetricSeries> curves;
  const auto* list = find(output, "curves");
  if (list == nullptr || !list->is_array()) return curves;
  for (const auto& item : *list)
    if (auto curve = read_curve(item); curve && curves.size() < max_curves) curves.push_back(std::move(*curve));
  return curves;
}

Json to_json(const ReportedOutput& output) {
  Json json = {{"name", output.name}};
  if (output.artifact) json["artifact"] = true;
  if (output.present) json["present"] = true;
  if (output.no_file) json["no_file"] = true;
  if (output.value) json["value"] = *output.value;
  if (!output.uri.empty()) json["uri"] = output.uri;
  if (!output.metadata.empty()) json["metadata"] = output.metadata;
  for (const auto& curve : output.curves) json["curves"].push_back(to_json(curve));
  return json;
}

std::optional<ReportedOutput> read_output(const Json& json) {
  Fields fields(json, "output");
  ReportedOutput output;
  output.name = fields.text("name").value_or("");
  output.artifact = fields.boolean("artifact").value_or(false);
  output.present = fields.boolean("present").value_or(false);
  output.no_file = fields.boolean("no_file").value_or(false);
  output.uri = fields.text("uri").value_or("");
  output.metadata = fields.object("metadata").value_or(Json::object());
  output.curves = read_curves(json);
  if (!fields.fits() || !json.is_object()) return std::nullopt;
  if (const auto value = json.find("value"); value != json.end()) output.value = *value;
  return output;
}

std::optional<VerdictClass> class_of(std::string_view word) {
  using enum VerdictClass;
  for (const auto one : {succeeded, user, input, system, timeout, capacity, interrupted, cancelled})
    if (name(one) == word) return one;
  return std::nullopt;
}

// 0 if it is not a number; a count above 2^53 is not one either.
double number(const Json& json, std::string_view key) {
  constexpr double most = 9007199254740992;
  const auto* value = find(json, key);
  const double found = value != nullptr && value->is_number() ? value->get<double>() : 0;
  return found >= 0 && found <= most ? found : 0;
}

}  // namespace

std::string to_text(const PodReport& report) {
  Json json = {{mark, version}, {"class", std::string(name(report.verdict_class))}, {"exit_code", report.exit_code}};
  if (!report.message.empty()) json["message"] = report.message;
  if (!report.attempt.empty()) json["attempt"] = report.attempt;
  if (report.primary) json["primary"] = true;
  if (report.repeated) json["repeated"] = true;
  if (report.shortened) json["shortened"] = true;
  if (report.curves_thinned) json["curves_thinned"] = true;
  for (const auto& output : report.outputs) json["outputs"].push_back(to_json(output));
  if (report.bytes_in > 0 || report.seconds_in > 0) json["in"] = {{"bytes", report.bytes_in}, {"seconds", report.seconds_in}};
  if (report.bytes_out > 0 || report.seconds_out > 0) json["out"] = {{"bytes", report.bytes_out}, {"seconds", report.seconds_out}};
  return to_python_text(json);
}

void thin_curves(PodReport& report, std::size_t most) {
  for (auto& output : report.outputs) {
    for (auto& curve : output.curves) {
      if (most == 1 && curve.points.size() > 1) curve.points.erase(curve.points.begin(), std::prev(curve.points.end()));
      if (most > 1) thin_out(curve.points, most);
    }
    if (most == 0) output.curves.clear();
  }
}

std::optional<PodReport> read_pod_report(std::string_view text) {
  if (!text.starts_with('{')) return std::nullopt;
  const auto json = parse_python_json(text, "report");
  if (!json || !json->is_object() || json->value(mark, Json()) != Json(version)) return std::nullopt;
  Fields fields(*json, "report");
  PodReport report;
  const auto verdict_class = class_of(fields.text("class").value_or(""));
  constexpr int most = 255;
  report.exit_code = static_cast<int>(fields.integer("exit_code", 0, most).value_or(0));
  report.message = fields.text("message").value_or("");
  report.attempt = fields.text("attempt").value_or("");
  report.primary = fields.boolean("primary").value_or(false);
  report.repeated = fields.boolean("repeated").value_or(false);
  report.shortened = fields.boolean("shortened").value_or(false);
  report.curves_thinned = fields.boolean("curves_thinned").value_or(false);
  for (const auto& item : fields.list("outputs").value_or(Json::array())) {
    auto output = read_output(item);
    if (!output) return std::nullopt;
    report.outputs.push_back(std::move(*output));
  }
  const auto in = fields.object("in").value_or(Json::object()), out = fields.object("out").value_or(Json::object());
  if (!verdict_class || !fields.fits()) return std::nullopt;
  report.verdict_class = *verdict_class;
  report.bytes_in = static_cast<std::int64_t>(number(in, "bytes"));
  report.bytes_out = static_cast<std::int64_t>(number(out, "bytes"));
  report.seconds_in = number(in, "seconds");
  report.seconds_out = number(out, "seconds");
  return report;
}

}  // namespace trainstep::result
