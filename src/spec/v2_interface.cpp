// SPDX-License-Identifier: Apache-2.0
#include "spec/v2_interface.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "spec/placeholders.h"
#include "spec/values.h"

namespace trainstep::spec {
namespace {

const Json& object_or_empty(const Json* json) {
  static const Json empty = Json::object();
  return json != nullptr && json->is_object() ? *json : empty;
}

Result<Type> read_type(const std::string& declared, const std::string& where) {
  static constexpr std::array<std::pair<std::string_view, Type>, 9> types{{{"STRING", Type::string},
                                                                           {"NUMBER_INTEGER", Type::integer},
                                                                           {"NUMBER_DOUBLE", Type::number},
                                                                           {"BOOLEAN", Type::boolean},
                                                                           {"LIST", Type::list},
                                                                           {"STRUCT", Type::object},
                                                                           {"TASK_CONFIG", Type::object},
                                                                           {"INT", Type::integer},
                                                                           {"DOUBLE", Type::number}}};
  for (const auto& [name, type] : types)
    if (declared == name) return type;
  if (declared == "TASK_FINAL_STATUS")
    return input_error(where + ": TASK_FINAL_STATUS is available only in a pipeline's exit handler, not in a training program");
  return input_error(
      fmt::format("{}.parameterType: unknown value \"{}\"; expected one of STRING, NUMBER_INTEGER, NUMBER_DOUBLE, BOOLEAN, LIST, STRUCT, TASK_CONFIG",
                  where, declared));
}

std::string declared_parameter(const Json& definition) {
  const auto* type = find(&definition, {"parameterType"});
  return type != nullptr ? text_of(definition, "parameterType") : text_of(definition, "type");
}

// What the pipeline passes to one input of the task.
struct InputSource {
  std::optional<Json> value;
  bool required = false;
};

InputSource from_pipeline(const std::string& name, const Json& root, const Json* values) {
  InputSource fed;
  if (const auto* given = find(values, {name})) {
    fed.value = *given;
    return fed;
  }
  const auto* definition = find(&root, {"inputDefinitions", "parameters", name});
  if (const auto* value = find(definition, {"defaultValue"})) fed.value = *value;
  const auto* optional = find(definition, {"isOptional"});
  fed.required = !fed.value && (optional == nullptr || *optional != true);
  return fed;
}

InputSource feed_parameter(const Json& task_input, const Json& root, const Json* values) {
  InputSource fed;
  fed.required = true;
  if (find(task_input, "parameterExpressionSelector") != nullptr) return fed;
  if (const auto name = text_of(&task_input, {"componentInputParameter"}); !name.empty()) return from_pipeline(name, root, values);
  const auto* constant = find(&task_input, {"runtimeValue", "constant"});
  if (constant == nullptr || holds_v2_key(*constant)) return fed;
  fed.value = *constant;
  fed.required = false;
  return fed;
}

Result<void> read_parameter(const std::string& name, const Json& definition, const Choice& choice, const Json& root, const Json* values,
                            Program& program) {
  const auto where = fmt::format("train_specification.components.{}.inputDefinitions.parameters.{}", choice.component, name);
  Input input;
  input.name = name;
  input.declared = declared_parameter(definition);
  ASSIGN(input.type, read_type(input.declared, where));
  const auto* optional = find(&definition, {"isOptional"});
  input.optional = optional != nullptr && *optional == true;
  std::optional<Json> value;
  if (input.declared == "TASK_CONFIG") value = Json::object();
  if (const auto* own = find(&definition, {"defaultValue"})) value = *own;
  const auto* task_input = find(choice.task_json, {"inputs", "parameters", name});
  if (task_input != nullptr && task_input->is_object() && input.declared != "TASK_CONFIG") {
    auto fed = feed_parameter(*task_input, root, values);
    if (fed.value || fed.required) value = std::move(fed.value);
    if (fed.required) input.optional = false;
  }
  if (value) {
    const auto place = where + ".defaultValue";
    ASSIGN(auto fitted, in_context(place, fit(*value, input.type, name)));
    if (input.type == Type::number) {
      ASSIGN(fitted, in_context(place, as_double(fitted, name)));
    } else {
      fitted = with_whole_numbers(std::move(fitted));
    }
    input.default_value = std::move(fitted);
    input.optional = true;
  }
  if (const auto* literals = find(&definition, {"literals"}); literals != nullptr && literals->is_array())
    for (const auto& literal : *literals) input.allowed.push_back(with_whole_numbers(literal));
  program.inputs.push_back(std::move(input));
  return {};
}

std::string schema_title(const Json& definition) {
  const auto title = text_of(&definition, {"artifactType", "schemaTitle"});
  return title.empty() ? "system.Artifact" : title;
}

void read_artifact(const std::string& name, const Json& definition, const Choice& choice, const Json& root, Program& program) {
  Input input;
  input.name = name;
  input.type = Type::artifact;
  input.declared = schema_title(definition);
  const auto* optional = find(&definition, {"isOptional"});
  const auto* source = find(choice.task_json, {"inputs", "artifacts", name});
  if (source != nullptr) {
    const auto outer = text_of(source, {"componentInputArtifact"});
    optional = outer.empty() ? nullptr : find(&root, {"inputDefinitions", "artifacts", outer, "isOptional"});
  }
  input.optional = optional != nullptr && *optional == true;
  program.inputs.push_back(std::move(input));
}

}  // namespace

Result<void> read_v2_interface(const Choice& choice, const Json& root, const Json* values, Program& program) {
  const auto* component = choice.component_json;
  for (const auto& [name, definition] : object_or_empty(find(component, {"inputDefinitions", "parameters"})).items())
    TRY(read_parameter(name, definition, choice, root, values, program));
  for (const auto& [name, definition] : object_or_empty(find(component, {"inputDefinitions", "artifacts"})).items())
    read_artifact(name, definition, choice, root, program);
  for (const auto& [name, definition] : object_or_empty(find(component, {"outputDefinitions", "parameters"})).items()) {
    const auto declared = declared_parameter(definition);
    ASSIGN(const auto type,
           read_type(declared, fmt::format("train_specification.components.{}.outputDefinitions.parameters.{}", choice.component, name)));
    program.outputs.push_back({name, type, declared});
  }
  for (const auto& [name, definition] : object_or_empty(find(component, {"outputDefinitions", "artifacts"})).items())
    program.outputs.push_back({name, Type::artifact, schema_title(definition)});
  return {};
}

}  // namespace trainstep::spec
