// SPDX-License-Identifier: Apache-2.0
#include "spec/v1_arguments.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "data/fields.h"
#include "spec/placeholders.h"

namespace trainstep::spec {
namespace {

using Kind = Argument::Kind;

Result<Argument> read_item(const Json& item, const std::string& where, Texts texts);

// One item or a list of items; null: none.
Result<std::vector<Argument>> read_branch(const Json& json, const std::string& where, Texts texts) {
  if (json.is_array() || json.is_null()) return read_v1_arguments(json, where, texts);
  ASSIGN(auto only, read_item(json, where, texts));
  std::vector<Argument> result;
  result.push_back(std::move(only));
  return result;
}

Result<void> read_condition(const Json& condition, const std::string& where, Texts texts, Argument& result) {
  result.kind = Kind::if_true;
  if (condition.is_boolean()) {
    result.condition.emplace_back().text = condition.get<bool>() ? "true" : "false";
    return {};
  }
  if (!condition.is_object() || !condition.contains("isPresent")) {
    ASSIGN(auto read, read_item(condition, where, texts));
    result.condition.push_back(std::move(read));
    return {};
  }
  const auto& name = condition["isPresent"];
  if (condition.size() != 1 || !name.is_string()) return input_error(where + ": expected {isPresent: NAME} with the name of an input");
  result.kind = Kind::if_present;
  result.text = name.get<std::string>();
  return {};
}

Result<Argument> read_if(const Json& json, const std::string& where, Texts texts) {
  Fields fields(json, where);
  const auto condition = fields.any("cond"), then = fields.any("then"), otherwise = fields.any("else");
  TRY(fields.done());
  if (!condition) return input_error(where + ".cond: is missing; write {isPresent: NAME}, {inputValue: NAME}, true or false");
  Argument result;
  TRY(read_condition(*condition, where + ".cond", texts, result));
  ASSIGN(result.parts, read_branch(then.value_or(nullptr), where + ".then", texts));
  ASSIGN(result.otherwise, read_branch(otherwise.value_or(nullptr), where + ".else", texts));
  return result;
}

// {ifPresent: {inputName, then, else}}
Result<Argument> read_if_present(const Json& json, const std::string& where, Texts texts) {
  Fields fields(json, where);
  Argument result;
  result.kind = Kind::if_present;
  result.text = fields.text("inputName").value_or("");
  const auto then = fields.any("then"), otherwise = fields.any("else");
  TRY(fields.done());
  if (result.text.empty()) return input_error(where + ".inputName: is missing");
  ASSIGN(result.parts, read_branch(then.value_or(nullptr), where + ".then", texts));
  ASSIGN(result.otherwise, read_branch(otherwise.value_or(nullptr), where + ".else", texts));
  return result;
}

Result<Argument> read_concat(const Json& json, const std::string& where, Texts texts) {
  if (!json.is_array()) return input_error(where + ": expected a list of strings and placeholders");
  Argument result;
  result.kind = Kind::concat;
  ASSIGN(result.parts, read_v1_arguments(json, where, texts));
  return result;
}

constexpr std::array<std::pair<std::string_view, Kind>, 6> leaves{{{"inputValue", Kind::input_value},
                                                                   {"inputPath", Kind::input_path},
                                                                   {"inputUri", Kind::input_uri},
                                                                   {"outputPath", Kind::output_path},
                                                                   {"outputUri", Kind::output_uri},
                                                                   {"executorInput", Kind::executor_input}}};

Result<Argument> read_placeholder(const std::string& key, const Json& value, const std::string& where, Texts texts) {
  const auto place = where + "." + key;
  if (key == "if") return read_if(value, place, texts);
  if (key == "ifPresent") return read_if_present(value, place, texts);
  if (key == "concat") return read_concat(value, place, texts);
  for (const auto& [name, kind] : leaves) {
    if (key != name) continue;
    Argument result;
    result.kind = kind;
    if (kind == Kind::executor_input) return result;
    if (!value.is_string()) return input_error(place + ": expected a name");
    result.text = value.get<std::string>();
    return result;
  }
  std::vector<std::string> known{"if", "concat"};
  for (const auto& [name, kind] : leaves) known.emplace_back(name);
  const auto near = nearest(key, known);
  return input_error(fmt::format("{}: unknown placeholder \"{}\"{}", where, key,
                                 near ? fmt::format("; did you mean \"{}\"?", *near) : "; expected one of " + join(known, ", ")));
}

Result<Argument> read_item(const Json& item, const std::string& where, Texts texts) {
  if (item.is_string()) {
    if (texts == Texts::v2_keys) return read_v2_text(item.get_ref<const std::string&>(), where);
    Argument result;
    result.text = item.get<std::string>();
    return result;
  }
  if (item.is_object() && item.size() == 1) return read_placeholder(item.begin().key(), item.begin().value(), where, texts);
  if (item.is_object()) return input_error(where + ": expected a placeholder with one key, like {inputValue: epochs}");
  return input_error(fmt::format("{}: expected a string or a placeholder, got {}; put it in quotes", where, type_name(item)));
}

}  // namespace

Result<std::vector<Argument>> read_v1_arguments(const Json& items, const std::string& where, Texts texts) {
  std::vector<Argument> result;
  if (items.is_null()) return result;
  if (!items.is_array()) return input_error(where + ": expected a list of strings and placeholders");
  result.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSIGN(auto item, read_item(items[i], fmt::format("{}[{}]", where, i), texts));
    result.push_back(std::move(item));
  }
  return result;
}

}  // namespace trainstep::spec
