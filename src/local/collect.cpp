// SPDX-License-Identifier: Apache-2.0
#include "local/collect.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "data/json.h"
#include "spec/values.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;
using spec::Type;

constexpr std::size_t largest_value = std::size_t{16} << 20U;

std::optional<double> special_number(std::string_view text) {
  const auto word = lower(trim(text));
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity" || word == "+inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf" || word == "-infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// Python's json writes NaN, Infinity and -Infinity, which are no JSON: they become texts.
std::string with_quoted_specials(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!in_string) {
      const auto rest = text.substr(i);
      std::string_view special;
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
        if (rest.starts_with(word)) special = word;
      if (!special.empty()) {
        result += fmt::format("\"{}\"", special);
        i += special.size() - 1;
        continue;
      }
    }
    if (text[i] == '"') in_string = !in_string;
    result += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) result += text[++i];
  }
  return result;
}

Result<Json> typed(const spec::Output& output, const Json& raw) {
  if (output.type == Type::number && raw.is_string())
    if (const auto special = special_number(raw.get_ref<const std::string&>())) return Json(*special);
  return spec::fit(raw, output.type);
}

// The text of a value's own file. Text is taken as it is, blanks and newlines included.
Result<Json> from_text(const spec::Output& output, const std::string& text) {
  const bool json = output.type == Type::list || output.type == Type::object;
  return typed(output, Json(json ? with_quoted_specials(text) : text));
}

Result<Json> read_executor_output(const std::string& path) {
  auto text = read_file(path, largest_value);
  if (!text && text.error().kind == ErrorKind::not_found) return Json::object();
  if (!text) return std::move(text.error());
  ASSIGN(auto output, parse_json(with_quoted_specials(*text), "the executor output that the program wrote (" + path + ")"));
  if (!output.is_object()) return input_error(fmt::format("the executor output that the program wrote ({}) is no object", path));
  return output;
}

// Both spellings are in use: proto3 JSON and the proto's own.
const Json* member(const Json& object, const char* camel_case, const char* snake_case) {
  if (!object.is_object()) return nullptr;
  const auto* found = find(object, camel_case);
  return found != nullptr ? found : find(object, snake_case);
}

const Json* returned_value(const Json& executor_output, const std::string& name) {
  const auto* values = member(executor_output, "parameterValues", "parameter_values");
  return values != nullptr && values->is_object() ? find(*values, name) : nullptr;
}

const Json* returned_artifact(const Json& executor_output, const std::string& name) {
  const auto* artifacts = member(executor_output, "artifacts", "artifacts");
  const auto* artifact = artifacts != nullptr && artifacts->is_object() ? find(*artifacts, name) : nullptr;
  const auto* list = artifact != nullptr && artifact->is_object() ? find(*artifact, "artifacts") : nullptr;
  return list != nullptr && list->is_array() && !list->empty() && list->front().is_object() ? &list->front() : nullptr;
}

void read_artifact(run::OutputFound& found, const Json& executor_output, const Footprint& before) {
  found.artifact = true;
  if (const auto* artifact = returned_artifact(executor_output, found.name)) {
    if (const auto* metadata = find(*artifact, "metadata"); metadata != nullptr && metadata->is_object()) found.metadata = *metadata;
    // A program may say that its artifact lies elsewhere.
    for (const auto* path : {find(*artifact, "uri"), member(*artifact, "customPath", "custom_path")})
      if (path != nullptr && path->is_string() && !path->get_ref<const std::string&>().empty() && *path != found.path) {
        found.path = path->get<std::string>();
        std::error_code ignored;
        found.present = found.path.find("://") != std::string::npos || fs::exists(found.path, ignored);
      }
  }
  std::error_code ignored;  // exists(): a link that leads nowhere is no output
  found.present = found.present || (before.written() && fs::exists(found.path, ignored)) || !found.metadata.empty();
}

Result<void> read_value(run::OutputFound& found, const spec::Output& output, const Json& executor_output, const Footprint& before) {
  const auto where = fmt::format("output {}", output.name);
  if (const auto* value = returned_value(executor_output, output.name)) {
    ASSIGN(found.value, in_context(where, typed(output, *value)));
  } else {
    if (!before.written())
      return input_error(fmt::format("{}: the program ended well but wrote no value for it (expected in {})", where, found.path));
    ASSIGN(const auto text, in_context(where, read_file(found.path, largest_value)));
    ASSIGN(found.value, in_context(where, from_text(output, text)));
  }
  found.present = true;
  return {};
}

}  // namespace

Footprints footprints_of(const Place& place) {
  Footprints footprints;
  for (const auto& [name, path] : place.placement.outputs) footprints.emplace(name, Footprint(path));
  return footprints;
}

void remove_stale_values(const plan::Plan& plan, const Place& place, const Footprints& before) {
  std::error_code ignored;
  fs::remove(place.placement.executor_output_file, ignored);
  for (const auto& output : plan.program.outputs) {
    const auto path = place.placement.outputs.find(output.name);
    if (output.type == Type::artifact || path == place.placement.outputs.end() || before.at(output.name).was_there()) continue;
    if (fs::is_regular_file(path->second, ignored)) fs::remove(path->second, ignored);
  }
}

Result<std::vector<run::OutputFound>> collect_outputs(const plan::Plan& plan, const Place& place, const Footprints& before) {
  ASSIGN(const auto executor_output, read_executor_output(place.placement.executor_output_file));
  std::vector<run::OutputFound> outputs;
  for (const auto& bound : plan.binding.outputs) {
    const auto* output = spec::find_output(plan.program, bound.name);
    if (output == nullptr) continue;
    auto& found = outputs.emplace_back();
    found.name = bound.name;
    found.path = place.placement.outputs.at(bound.name);
    if (bound.path) found.step_path = bound.path->name;
    const auto& footprint = before.at(bound.name);
    if (output->type == Type::artifact)
      read_artifact(found, executor_output, footprint);
    else
      TRY(read_value(found, *output, executor_output, footprint));
  }
  return outputs;
}

}  // namespace trainstep::local
