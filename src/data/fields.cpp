// SPDX-License-Identifier: Apache-2.0
#include "data/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "data/finite.h"
#include "data/secrets.h"

namespace trainstep {
namespace {

template <typename T>
std::optional<T> parsed_as(std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> whole_number(const Json& value) {
  constexpr double largest = 9007199254740992.0;  // 2^53: larger integers may change in a double
  if (const auto* unsigned_number = value.get_ptr<const std::uint64_t*>())
    return std::in_range<std::int64_t>(*unsigned_number) ? std::optional(static_cast<std::int64_t>(*unsigned_number)) : std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  double number = 0;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_string()) {
    const auto text = trim(value.get_ref<const std::string&>());
    if (const auto whole = parsed_as<std::int64_t>(text)) return whole;
    const auto decimal = parsed_as<double>(text);
    if (!decimal || std::abs(*decimal) == largest) return std::nullopt;  // 2^53 may have been 2^53 + 1
    number = *decimal;
  } else {
    return std::nullopt;
  }
  if (!std::isfinite(number) || std::trunc(number) != number || std::abs(number) > largest) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<bool> truth(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return std::nullopt;
  const auto text = lower(trim(value.get_ref<const std::string&>()));
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

bool is_blank(const Json& value) { return value.is_string() && trim(value.get_ref<const std::string&>()).empty(); }

Fields::Fields(const Json& object, std::string where) : m_object(object.is_object() ? object : m_nothing), m_where(std::move(where)) {
  if (!object.is_object() && !object.is_null() && !is_blank(object))
    fail(input_error(fmt::format("{}: expected an object, got {}: {}", m_where, type_name(object), shown_value(m_where, object))));
}

std::string Fields::path(std::string_view key) const { return fmt::format("{}.{}", m_where, key); }

void Fields::know(std::string_view key) {
  if (m_known_keys.emplace(key).second) m_known.emplace_back(key);
}

const Json* Fields::member(std::string_view key) {
  constexpr std::size_t many = 64;
  if (m_object.size() < many) return find(m_object, key);
  if (m_members.empty())
    for (const auto& [name, value] : m_object.get_ref<const Json::object_t&>()) m_members.emplace(name, value.is_null() ? nullptr : &value);
  const auto found = m_members.find(key);
  return found == m_members.end() ? nullptr : found->second;
}

const Json* Fields::take(std::string_view key) {
  know(key);
  const auto* value = member(key);
  return value == nullptr || is_blank(*value) ? nullptr : value;
}

bool Fields::has(std::string_view key) const {
  const auto* value = find(m_object, key);
  return value != nullptr && !is_blank(*value);
}

void Fields::fail(Error error) {
  if (!m_error) m_error = std::move(error);
}

void Fields::mistake(std::string_view key, std::string_view wanted, const Json& found) {
  // In {"name": "TOKEN", "value": …} the name decides whether the value is secret.
  const auto* name = key == "value" ? find(m_object, "name") : nullptr;
  const auto named = name != nullptr && name->is_string() ? path(key) + '.' + name->get_ref<const std::string&>() : path(key);
  fail(input_error(fmt::format("{}: expected {}, got {}", path(key), wanted, shown_value(named, found))));
}

std::optional<std::string> Fields::text(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  mistake(key, "a string", *value);
  return std::nullopt;
}

std::optional<std::string> Fields::text_or_number(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  if (const auto whole = whole_number(*value)) return fmt::format("{}", *whole);
  if (value->is_number() && all_finite(*value)) return to_text(*value);
  mistake(key, "a string or a number", *value);
  return std::nullopt;
}

std::optional<std::string> Fields::variable(std::string_view key) {
  const auto* value = member(key);
  if (value == nullptr || !is_blank(*value)) return text_or_number(key);
  know(key);
  return value->get<std::string>();
}

std::optional<std::string> Fields::choice(std::string_view key, const std::vector<std::string>& choices) {
  const auto value = text(key);
  if (!value) return std::nullopt;
  for (const auto& choice : choices)
    if (lower(choice) == lower(trim(*value))) return choice;
  const auto near = nearest(*value, choices);
  fail(input_error(fmt::format("{}: unknown value {}{}; expected one of {}", path(key), shown_value(path(key), *value),
                               near ? fmt::format(" (did you mean \"{}\"?)", *near) : "", join(choices, ", "))));
  return std::nullopt;
}

std::optional<std::int64_t> Fields::integer(std::string_view key, std::int64_t least, std::int64_t most) {
  const auto* value = take(key);
  if (value == nullptr) return std::nullopt;
  const auto number = whole_number(*value);
  if (number && *number >= least && *number <= most) return number;
  mistake(key, fmt::format("an integer from {} to {}", least, most), *value);
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) return std::nullopt;
  const auto result = truth(*value);
  if (!result) mistake(key, "true or false", *value);
  return result;
}

std::optional<Json> Fields::object(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return *value;
  mistake(key, "an object", *value);
  return std::nullopt;
}

std::optional<Json> Fields::list(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array()) return *value;
  mistake(key, "a list", *value);
  return std::nullopt;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view key) {
  const auto items = list(key);
  if (!items) return std::nullopt;
  std::vector<std::string> result;
  for (const auto& item : *items) {
    if (item.is_null() || is_blank(item)) continue;
    if (item.is_string()) {
      result.push_back(item.get<std::string>());
    } else {
      mistake(key, "a list of strings", *items);
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Json> Fields::any(std::string_view key) {
  know(key);
  const auto* value = find(m_object, key);
  return value == nullptr ? std::nullopt : std::optional<Json>(*value);
}

Result<void> Fields::done() {
  if (m_object.is_object()) {
    for (const auto& [key, value] : m_object.items()) {
      if (m_known_keys.contains(key)) continue;
      const auto near = nearest(key, m_known);
      const auto shown = shown_value("", redacted_json(Json(key), {}));
      const auto problem = shown.starts_with('"') ? "unknown key " + shown : "unknown key (not shown)";
      return input_error(fmt::format("{}: {}{}", m_where, problem,
                                     near ? fmt::format("; did you mean \"{}\"?", *near) : fmt::format("; expected one of {}", join(m_known, ", "))));
    }
  }
  return fits();
}

Result<void> Fields::fits() {
  if (m_error) return *m_error;
  return {};
}

}  // namespace trainstep
