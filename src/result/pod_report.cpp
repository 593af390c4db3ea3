// SPDX-License-Identifier: Apache-2.0
#include "result/pod_report.h"

#include <array>
#include <utility>

#include "data/fields.h"
#include "data/python_json.h"

namespace trainstep::result {
namespace {

constexpr std::string_view mark = "trainstep_report";
constexpr int version = 1;

Json to_json(const ReportedOutput& output) {
  Json json = {{"name", output.name}};
  if (output.artifact) json["artifact"] = true;
  if (output.present) json["present"] = true;
  if (output.value) json["value"] = *output.value;
  if (!output.uri.empty()) json["uri"] = output.uri;
  if (!output.metadata.empty()) json["metadata"] = output.metadata;
  return json;
}

std::optional<ReportedOutput> read_output(const Json& json) {
  Fields fields(json, "output");
  ReportedOutput output;
  output.name = fields.text("name").value_or("");
  output.artifact = fields.boolean("artifact").value_or(false);
  output.present = fields.boolean("present").value_or(false);
  output.uri = fields.text("uri").value_or("");
  output.metadata = fields.object("metadata").value_or(Json::object());
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

// 0 for what is none; a count beyond 2^53 is none either.
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
  for (const auto& output : report.outputs) json["outputs"].push_back(to_json(output));
  if (report.bytes_in > 0 || report.seconds_in > 0) json["in"] = {{"bytes", report.bytes_in}, {"seconds", report.seconds_in}};
  if (report.bytes_out > 0 || report.seconds_out > 0) json["out"] = {{"bytes", report.bytes_out}, {"seconds", report.seconds_out}};
  return to_python_text(json);
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
