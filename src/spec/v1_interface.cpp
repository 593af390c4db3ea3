// SPDX-License-Identifier: Apache-2.0
#include "spec/v1_interface.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "data/fields.h"
#include "spec/uses.h"
#include "spec/values.h"

namespace trainstep::spec {
namespace {

// "Integer", {JsonObject: {…}} (the key is the type); anything else as written.
std::string declared_type(const std::optional<Json>& type) {
  if (!type) return {};
  if (type->is_string()) return type->get<std::string>();
  if (type->is_object() && type->size() == 1) return type->begin().key();
  return to_text(*type);
}

Result<void> read_default(Input& input, const Json& value, const std::string& where) {
  const bool empty = value.is_string() && value.get_ref<const std::string&>().empty();
  input.optional = true;
  if (empty && input.type != Type::string && input.type != Type::any) return {};  // v1's notation for "none"
  if (input.type == Type::artifact)
    return input_error(where + ": a path cannot have a default; use {inputValue: " + input.name + "} or omit the default");
  auto fitted = in_context(where, fit(value, input.type, input.name));
  if (!fitted) return fitted.error();
  input.default_value = std::move(*fitted);
  return {};
}

Result<Input> read_input(const Json& json, const Uses& uses, const std::string& where) {
  Input input;
  std::optional<Json> default_value;
  if (json.is_string()) {
    input.name = json.get<std::string>();
  } else {
    Fields fields(json, where);
    input.name = fields.text("name").value_or("");
    input.declared = declared_type(fields.any("type"));
    default_value = fields.any("default");
    input.optional = fields.boolean("optional").value_or(false);
    for (const auto* ignored : {"description", "annotations"}) fields.any(ignored);
    TRY(fields.done());
  }
  if (input.name.empty()) return input_error(where + ".name: is missing");
  input.type = uses.paths.contains(input.name) ? Type::artifact : type_of_name(input.declared);
  if (default_value) TRY(read_default(input, *default_value, where + ".default"));
  return input;
}

Type output_type(const Output& output, const Uses& uses) {
  const auto type = type_of_name(output.declared);
  if (uses.returned.contains(output.name)) return type;
  return type == Type::any || type == Type::string ? Type::artifact : type;
}

Result<Output> read_output(const Json& json, const Uses& uses, const std::string& where) {
  Output output;
  bool optional = false;  // set by the Python package as an annotation: a component has no key for it, and the SDKs have no type Optional[…]
  if (json.is_string()) {
    output.name = json.get<std::string>();
  } else {
    Fields fields(json, where);
    output.name = fields.text("name").value_or("");
    output.declared = declared_type(fields.any("type"));
    fields.any("description");
    const auto notes = fields.any("annotations");
    optional = notes && notes->is_object() && notes->value("optional", Json()) == Json(true);
    TRY(fields.done());
  }
  if (output.name.empty()) return input_error(where + ".name: is missing");
  output.type = output_type(output, uses);
  if (optional && output.type != Type::artifact) output.declared = fmt::format("Optional[{}]", output.declared);
  return output;
}

template <typename T>
Result<std::vector<T>> read_list(const Json& json, const Uses& uses, Result<T> (*read)(const Json&, const Uses&, const std::string&),
                                 const std::string& where) {
  std::vector<T> result;
  if (json.is_null()) return result;
  if (!json.is_array()) return input_error(where + ": expected a list of objects like {name: epochs, type: Integer}");
  std::set<std::string> names;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto place = fmt::format("{}[{}]", where, i);
    ASSIGN(auto item, read(json[i], uses, place));
    if (!names.insert(item.name).second) return input_error(fmt::format("{}: \"{}\" is declared twice", place, item.name));
    result.push_back(std::move(item));
  }
  return result;
}

void add_implied(Program& program, const Uses& uses) {
  std::set<std::string> declared;
  for (const auto& input : program.inputs) declared.insert(input.name);
  for (const auto& name : uses.inputs) {
    if (declared.contains(name)) continue;
    auto& input = program.inputs.emplace_back();
    input.name = name;
    input.type = uses.paths.contains(name) ? Type::artifact : Type::any;
    input.optional = uses.asked.contains(name);
  }
  declared.clear();
  for (const auto& output : program.outputs) declared.insert(output.name);
  for (const auto& name : uses.outputs)
    if (!declared.contains(name)) program.outputs.push_back({name, Type::artifact, ""});
}

}  // namespace

Result<void> read_v1_interface(Program& program, const Json& inputs, const Json& outputs, bool implied, const std::string& where) {
  const auto uses = find_uses(program);
  ASSIGN(program.inputs, read_list(inputs, uses, read_input, where + ".inputs"));
  ASSIGN(program.outputs, read_list(outputs, uses, read_output, where + ".outputs"));
  if (implied) add_implied(program, uses);
  return check_uses(program, uses, where);
}

}  // namespace trainstep::spec
