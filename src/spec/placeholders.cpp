// SPDX-License-Identifier: Apache-2.0
#include "spec/placeholders.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace trainstep::spec {
namespace {

using Kind = Argument::Kind;

Argument leaf(Kind kind, std::string_view text = {}) {
  Argument argument;
  argument.kind = kind;
  argument.text = text;
  return argument;
}

// Consumes "['name']" or "["name"]" from the front of `key`, and returns the name.
std::optional<std::string_view> take_name(std::string_view& key) {
  for (const std::string_view quote : {"''", "'", "\""}) {
    const auto open = "[" + std::string(quote), close = std::string(quote) + "]";
    if (!key.starts_with(open)) continue;
    const auto end = key.find(close, open.size());
    if (end == std::string_view::npos) return std::nullopt;
    const auto name = key.substr(open.size(), end - open.size());
    key.remove_prefix(end + close.size());
    return name;
  }
  return std::nullopt;
}

struct Family {
  std::string_view prefix, suffix;
  Kind kind;
};
constexpr std::array<Family, 6> families{{{".inputs.parameters", "", Kind::input_value},
                                          {".inputs.artifacts", ".path", Kind::input_path},
                                          {".inputs.artifacts", ".uri", Kind::input_uri},
                                          {".outputs.parameters", ".output_file", Kind::output_path},
                                          {".outputs.artifacts", ".path", Kind::output_path},
                                          {".outputs.artifacts", ".uri", Kind::output_uri}}};

// `key`: the text between "{{$" and "}}". Nullopt: not a known placeholder, to be left unchanged.
Result<std::optional<Argument>> read_key(std::string_view key, const std::string& where) {
  if (key.empty()) return std::optional(leaf(Kind::executor_input));
  if (key == ".outputs.output_file" || key == ".outputMetadataUri") return std::optional(leaf(Kind::executor_output_file));
  for (const auto& family : families) {
    if (!key.starts_with(family.prefix)) continue;
    auto rest = key.substr(family.prefix.size());
    const auto name = take_name(rest);
    if (name && rest == family.suffix) return std::optional(leaf(family.kind, *name));
  }
  for (const std::string_view prefix : {".inputs.", ".outputs.", ".pipeline_"})
    if (key.starts_with(prefix))
      return input_error(
          fmt::format("{}: {{{{${}}}}} is not supported; expected one of {{{{$}}}}, a parameter's value, an artifact's path and uri", where, key));
  return std::optional<Argument>();
}

Result<Argument> read_keys(const std::string& whole, const std::string& where) {
  std::vector<Argument> parts;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) parts.push_back(leaf(Kind::text, std::exchange(literal, {})));
  };
  std::string_view text = whole;
  for (auto open = text.find("{{$"); open != std::string_view::npos; open = text.find("{{$")) {
    const auto close = text.find("}}", open + 3);
    if (close == std::string_view::npos) break;
    ASSIGN(auto placeholder, read_key(text.substr(open + 3, close - open - 3), where));
    literal += text.substr(0, open);
    if (placeholder) {
      end_literal();
      parts.push_back(std::move(*placeholder));
      text.remove_prefix(close + 2);
    } else {
      literal += text.substr(open, 3);
      text.remove_prefix(open + 3);
    }
  }
  literal += text;
  end_literal();
  if (parts.empty()) return leaf(Kind::text);
  if (parts.size() == 1) return std::move(parts.front());
  auto joined = leaf(Kind::concat);
  joined.parts = std::move(parts);
  return joined;
}

Result<Argument> read_structure(const Json& json, const std::string& where);

// A string, a structure, or a list of them.
Result<std::vector<Argument>> read_branch(const Json* json, const std::string& where) {
  std::vector<Argument> result;
  if (json == nullptr) return result;
  if (!json->is_array()) {
    ASSIGN(auto only, read_structure(*json, where));
    result.push_back(std::move(only));
    return result;
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    ASSIGN(auto item, read_structure((*json)[i], fmt::format("{}[{}]", where, i)));
    result.push_back(std::move(item));
  }
  return result;
}

Result<Argument> read_structure(const Json& json, const std::string& where) {
  if (json.is_string()) return read_keys(json.get_ref<const std::string&>(), where);
  const auto* concat = json.is_object() && json.size() == 1 ? find(json, "Concat") : nullptr;
  if (concat != nullptr && concat->is_array()) {
    auto result = leaf(Kind::concat);
    ASSIGN(result.parts, read_branch(concat, where + ".Concat"));
    return result;
  }
  const auto* condition = json.is_object() && json.size() == 1 ? find(json, "IfPresent") : nullptr;
  const auto* name = condition != nullptr && condition->is_object() ? find(*condition, "InputName") : nullptr;
  if (name != nullptr && name->is_string()) {
    auto result = leaf(Kind::if_present, name->get_ref<const std::string&>());
    ASSIGN(result.parts, read_branch(find(*condition, "Then"), where + ".Then"));
    ASSIGN(result.otherwise, read_branch(find(*condition, "Else"), where + ".Else"));
    return result;
  }
  return input_error(
      fmt::format(R"({}: expected a string, {{"Concat": [...]}} or {{"IfPresent": {{"InputName": ..., "Then": ..., "Else": ...}}}})", where));
}

}  // namespace

Result<Argument> read_v2_text(const std::string& text, const std::string& where) {
  auto rest = trim(text);
  if (rest.starts_with('{') && rest.ends_with('}')) {
    rest = trim(rest.substr(1));
    if (rest.starts_with("\"IfPresent\"") || rest.starts_with("\"Concat\"")) {
      ASSIGN(const auto json, parse_json(text, where));
      return read_structure(json, where);
    }
  }
  return read_keys(text, where);
}

bool has_v2_key(const std::string& text) { return text.find("{{$") != std::string::npos; }

bool holds_v2_key(const Json& json) {
  if (json.is_string()) return has_v2_key(json.get_ref<const std::string&>());
  if (!json.is_structured()) return false;
  for (const auto& item : json)
    if (holds_v2_key(item)) return true;
  return false;
}

}  // namespace trainstep::spec
