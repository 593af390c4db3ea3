// SPDX-License-Identifier: Apache-2.0
#include "spec/returned.h"

#include <fmt/format.h>

#include "base/text.h"
#include "data/place.h"
#include "data/python_json.h"
#include "spec/values.h"

namespace trainstep::spec {
namespace {

// Both spellings occur: proto3 JSON and the field names of the proto.
const Json* member(const Json& object, const char* camel_case, const char* snake_case) {
  if (!object.is_object()) return nullptr;
  const auto* found = find(object, camel_case);
  return found != nullptr ? found : find(object, snake_case);
}

const Json* artifact_of(const Json& executor_output, const std::string& name) {
  const auto* artifacts = member(executor_output, "artifacts", "artifacts");
  const auto* artifact = artifacts != nullptr && artifacts->is_object() ? find(*artifacts, name) : nullptr;
  const auto* list = artifact != nullptr && artifact->is_object() ? find(*artifact, "artifacts") : nullptr;
  return list != nullptr && list->is_array() && !list->empty() && list->front().is_object() ? &list->front() : nullptr;
}

Error no_text() {
  return input_error("the program did not write text: it is not UTF-8 or contains a NUL character; write binary data to an artifact");
}

}  // namespace

bool is_text(std::string_view bytes) { return !find_invalid_utf8(bytes) && bytes.find('\0') == std::string_view::npos; }

Result<Json> parse_executor_output(std::string_view text, std::string_view where) {
  const auto what = fmt::format("the executor output written by the program ({})", where);
  ASSIGN(auto output, parse_returned_json(text, what));
  if (!output.is_object()) return input_error(what + " is not an object");
  return output;
}

std::optional<Result<Json>> returned_value(const Output& output, const Json& executor_output) {
  const auto* values = member(executor_output, "parameterValues", "parameter_values");
  const auto* value = values != nullptr && values->is_object() ? find(*values, output.name) : nullptr;
  if (value == nullptr) return std::nullopt;
  if (value->is_string() && !is_text(value->get_ref<const std::string&>())) return no_text();
  return typed_value(output, *value);
}

Result<Json> value_from_file(const Output& output, const std::string& text) {
  if (!is_text(text)) return no_text();
  if (is_optional(output) && output.type != Type::string && trim(text) == "None") return Json();
  return typed_value(output, Json(text));
}

bool is_optional(const Output& output) { return output.type != Type::artifact && is_optional_name(output.declared); }

Result<Json> typed_value(const Output& output, const Json& raw) {
  const bool structure = output.type == Type::list || output.type == Type::object;
  if ((structure || output.type == Type::number) && raw.is_string())
    if (auto read = parse_returned_json(raw.get_ref<const std::string&>(), output.name); read && (structure || read->is_number()))
      return fit(*read, output.type, output.name);
  return fit(raw, output.type, output.name);
}

bool is_text_at_path(const Output& output) { return output.type == Type::artifact && type_of_name(output.declared) == Type::string; }

bool holds_metrics(const Output& output) { return lower(output.declared).ends_with("metrics"); }

ReturnedArtifact returned_artifact(const Json& executor_output, const std::string& name) {
  ReturnedArtifact returned;
  const auto* artifact = artifact_of(executor_output, name);
  if (artifact == nullptr) return returned;
  if (const auto* metadata = find(*artifact, "metadata"); metadata != nullptr && metadata->is_object()) returned.metadata = *metadata;
  for (const auto* place : {find(*artifact, "uri"), member(*artifact, "customPath", "custom_path")})
    if (place != nullptr && place->is_string() && !place->get_ref<const std::string&>().empty()) returned.places.push_back(place->get<std::string>());
  return returned;
}

}  // namespace trainstep::spec
