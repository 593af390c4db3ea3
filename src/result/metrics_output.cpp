// SPDX-License-Identifier: Apache-2.0
#include "result/metrics_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/json_reader.h"
#include "data/tree.h"
#include "result/metric_text.h"
#include "result/metrics.h"

namespace trainstep::result {
namespace {

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-'; }

constexpr std::array<std::string_view, 3> not_finite{"NaN", "Infinity", "-Infinity"};

// Quotes NaN, Infinity and -Infinity, which json.dumps writes but JSON does not allow.
std::string with_quoted_words(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\' && at + 1 < text.size()) result += text[at++];
    const bool starts_word = !in_string && is_word(c) && (at == 0 || !is_word(text[at - 1]));
    std::string_view found;
    for (const auto word : not_finite)
      if (starts_word && text.substr(at).starts_with(word)) found = word;
    if (found.empty()) {
      result += text[at];
    } else {
      result.append("\"").append(found).append("\"");
      at += found.size() - 1;
    }
  }
  return result;
}

void add_members(const Json& object, std::vector<Metric>& metrics) {
  for (const auto& [name, value] : object.items())
    if (const auto read = metric_value(value)) metrics.push_back({name, *read, false});
}

Result<std::vector<Metric>> read_v1(const Json& entries, std::string_view what) {
  std::vector<Metric> metrics;
  for (const auto& entry : entries) {
    const auto where = fmt::format("{}: metrics[{}]", what, metrics.size());
    const auto* name = find(entry, "name");
    if (name == nullptr || !name->is_string()) return input_error(where + " has no name");
    const auto* value = find(entry, "numberValue");
    const auto read = value == nullptr ? std::nullopt : metric_value(*value);
    if (!read) return input_error(fmt::format("{} ({}): numberValue is not a number", where, name->get<std::string>()));
    const auto* format = find(entry, "format");
    metrics.push_back({name->get<std::string>(), *read, format != nullptr && *format == "PERCENTAGE"});
  }
  return metrics;
}

enum class Shape { plain, list, outputs, metadata };

Shape shape_of(const Json& json) {
  if (const auto* entries = find(json, "metrics"); entries != nullptr && entries->is_array()) return Shape::list;
  if (const auto* outputs = find(json, "artifacts"); outputs != nullptr && outputs->is_object()) return Shape::outputs;
  if (const auto* metadata = find(json, "metadata"); metadata != nullptr && metadata->is_object()) return Shape::metadata;
  return Shape::plain;
}

// The objects whose members are metrics, in all shapes but a list.
std::vector<const Json*> objects_of_metrics(const Json& json) {
  std::vector<const Json*> objects;
  const auto shape = shape_of(json);
  if (shape == Shape::plain) objects.push_back(&json);
  if (shape == Shape::metadata) objects.push_back(find(json, "metadata"));
  if (shape != Shape::outputs) return objects;
  for (const auto& output : *find(json, "artifacts")) {
    const auto* artifacts = find(output, "artifacts");
    if (artifacts == nullptr || !artifacts->is_array() || artifacts->empty()) continue;
    if (const auto* metadata = find(artifacts->front(), "metadata"); metadata != nullptr && metadata->is_object()) objects.push_back(metadata);
  }
  return objects;
}

}  // namespace

std::optional<double> metric_value(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return std::nullopt;
  auto text = trim(json.get_ref<const std::string&>());
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

Result<std::vector<Metric>> read_metrics(std::string_view text, std::string_view what) {
  ASSIGN(const auto json, read_answer(with_quoted_words(text), what));
  if (!json.is_object()) return input_error(fmt::format("{}: expected a JSON object of names and numbers, got {}", what, type_name(json)));
  if (shape_of(json) == Shape::list) return read_v1(*find(json, "metrics"), what);
  std::vector<Metric> metrics;
  for (const auto* object : objects_of_metrics(json)) add_members(*object, metrics);
  return metrics;
}

Json members_besides_metrics(std::string_view text) {
  std::vector<std::pair<std::string, Json>> members;
  const auto json = read_answer(with_quoted_words(text), "metrics");
  if (!json || !json->is_object() || shape_of(*json) != Shape::plain) return Json::object();
  for (const auto& [name, value] : json->items())
    if (const auto* written = value.get_ptr<const std::string*>();
        written != nullptr ? !std::ranges::count(not_finite, *written) : !value.is_null() && !value.is_number())
      members.emplace_back(name, value);
  return make_object(std::move(members));
}

std::vector<std::string> members_without_number(std::string_view text) {
  std::vector<std::string> names;
  const auto json = read_answer(with_quoted_words(text), "metrics");
  if (!json || !json->is_object()) return names;
  for (const auto* object : objects_of_metrics(*json))
    for (const auto& [name, value] : object->items())
      if (!metric_value(value)) names.push_back(name);
  if (shape_of(*json) == Shape::list)
    for (const auto& [name, value] : json->items())
      if (name != "metrics") names.push_back(name);
  return names;
}

}  // namespace trainstep::result
