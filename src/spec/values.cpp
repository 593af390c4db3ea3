// SPDX-License-Identifier: Apache-2.0
#include "spec/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/redact.h"
#include "base/text.h"
#include "data/fields.h"
#include "data/python_json.h"
#include "data/secrets.h"
#include "data/tree.h"

namespace trainstep::spec {
namespace {

Error misfit(Type type, const Json& found, std::string_view name, std::string_view hint = {}) {
  return input_error(fmt::format("expected {}, got {}{}", describe(type), shown_value(name, found), hint));
}

constexpr std::string_view no_double = "; a double cannot represent it exactly: declare the parameter as String to pass it unchanged";
constexpr std::string_view no_integer = "; integers are limited to 64 bits: declare the parameter as String to pass it unchanged";

bool is_integer_text(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

template <typename T>
std::optional<T> whole(std::string_view text) {
  T number{};
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

// The spellings of Python's float() and of proto3 JSON.
std::optional<double> special_number(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto word = lower(text);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity" || word == "+inf" || word == "+infinity") return infinity;
  if (word == "-inf" || word == "-infinity") return -infinity;
  return std::nullopt;
}

// An integral number, out of the range of 64 bits.
bool is_long_integer(const Json& value) {
  return (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>()) ||
         (value.is_string() && is_integer_text(trim(value.get_ref<const std::string&>())));
}

std::optional<Json> integer_of(std::string_view text) {
  if (const auto number = whole<std::int64_t>(text)) return Json(*number);
  if (const auto number = whole<std::uint64_t>(text)) return Json(*number);
  return std::nullopt;
}

Result<Json> fit_string(const Json& value, std::string_view name) {
  if (value.is_string()) return value;
  if (value.is_number_integer()) return Json(to_text(value));
  return misfit(Type::string, value, name, "; quote it, as the program should receive it");
}

Result<Json> fit_integer(const Json& value, std::string_view name) {
  if (value.is_number_integer()) return value;
  if (value.is_string()) {
    if (auto number = integer_of(trim(value.get_ref<const std::string&>()))) return std::move(*number);
  }
  if (const auto number = whole_number(value)) return Json(*number);
  return misfit(Type::integer, value, name, is_long_integer(value) ? no_integer : "");
}

Result<Json> fit_number(const Json& value, std::string_view name) {
  if (value.is_number()) return value;
  if (value.is_string()) {
    const auto text = trim(value.get_ref<const std::string&>());
    if (auto number = integer_of(text)) return std::move(*number);
    if (is_integer_text(text)) {
      if (auto number = big_integer(text)) return std::move(*number);
      return misfit(Type::number, value, name, no_double);
    }
    if (const auto number = whole<double>(text); number && std::isfinite(*number)) return Json(*number);
    if (const auto number = special_number(text)) return Json(*number);
  }
  return misfit(Type::number, value, name);
}

Result<Json> fit_boolean(const Json& value, std::string_view name) {
  if (value.is_boolean()) return value;
  if (value.is_string()) {
    // The words accepted by the SDK's own deserializer (distutils.util.strtobool).
    static constexpr std::array<std::string_view, 6> yes{"true", "yes", "y", "t", "on", "1"}, no{"false", "no", "n", "f", "off", "0"};
    const auto text = lower(trim(value.get_ref<const std::string&>()));
    if (std::find(yes.begin(), yes.end(), text) != yes.end()) return Json(true);
    if (std::find(no.begin(), no.end(), text) != no.end()) return Json(false);
  }
  return misfit(Type::boolean, value, name);
}

// Why a text is not valid JSON, if it was meant to be JSON.
std::string not_json(std::string_view text, std::string_view name, const Error& error) {
  if (text.find('\'') != std::string_view::npos) return "; not valid JSON: strings in it must be in double quotes";
  const auto body = trim(text);
  return sounds_secret(name) || (!body.starts_with('[') && !body.starts_with('{')) ? "" : "; " + error.message;
}

Result<Json> fit_structure(const Json& value, Type type, std::string_view name) {
  const auto fits = [type](const Json& json) { return type == Type::list ? json.is_array() : json.is_object(); };
  if (fits(value)) return value;
  if (!value.is_string()) return misfit(type, value, name);
  const auto& text = value.get_ref<const std::string&>();
  auto parsed = parse_python_json(text, "JSON");
  if (!parsed) return misfit(type, value, name, not_json(text, name, parsed.error()));
  if (!fits(*parsed)) return misfit(type, value, name);
  return parsed;
}

}  // namespace

bool is_optional_name(std::string_view declared) {
  auto name = lower(trim(declared));
  if (name.starts_with("typing.")) name.erase(0, 7);
  return name.starts_with("optional[") && name.ends_with(']');
}

Type type_of_name(std::string_view declared) {
  auto name = trim(declared);
  if (name.starts_with("typing.")) name.remove_prefix(7);
  const auto bracket = name.find('[');
  const auto base = lower(trim(name.substr(0, bracket)));
  if (is_optional_name(name)) return type_of_name(name.substr(bracket + 1, name.size() - bracket - 2));
  static constexpr std::array<std::pair<std::string_view, Type>, 18> names{{{"string", Type::string},
                                                                            {"str", Type::string},
                                                                            {"text", Type::string},
                                                                            {"integer", Type::integer},
                                                                            {"int", Type::integer},
                                                                            {"float", Type::number},
                                                                            {"double", Type::number},
                                                                            {"number", Type::number},
                                                                            {"boolean", Type::boolean},
                                                                            {"bool", Type::boolean},
                                                                            {"jsonarray", Type::list},
                                                                            {"list", Type::list},
                                                                            {"sequence", Type::list},
                                                                            {"jsonobject", Type::object},
                                                                            {"dict", Type::object},
                                                                            {"dictionary", Type::object},
                                                                            {"mapping", Type::object},
                                                                            {"struct", Type::object}}};
  for (const auto& [known, type] : names)
    if (base == known) return type;
  return Type::any;
}

std::string_view describe(Type type) {
  switch (type) {
    case Type::string:
      return "a string";
    case Type::integer:
      return "an integer";
    case Type::number:
      return "a number";
    case Type::boolean:
      return "true or false";
    case Type::list:
      return "a list";
    case Type::object:
      return "an object";
    case Type::any:
      return "a value";
    case Type::artifact:
      return "a path";
  }
  return "a value";
}

Result<Json> fit(const Json& value, Type type, std::string_view name) {
  switch (type) {
    case Type::string:
      return fit_string(value, name);
    case Type::integer:
      return fit_integer(value, name);
    case Type::number:
      return fit_number(value, name);
    case Type::boolean:
      return fit_boolean(value, name);
    case Type::list:
    case Type::object:
      return fit_structure(value, type, name);
    case Type::any:
    case Type::artifact:
      break;
  }
  return value;
}

Json with_whole_numbers(Json value) {
  if (value.is_structured()) {
    for (auto& item : value) item = with_whole_numbers(std::move(item));
  } else if (value.is_number_float()) {
    const auto number = whole_number(value);
    if (number && (*number != 0 || !std::signbit(value.get<double>()))) return *number;
  }
  return value;
}

Result<Json> as_double(const Json& number, std::string_view name) {
  const auto value = number.get<double>();
  // An integer must survive the conversion to double and back.
  constexpr double beyond = 18446744073709551616.0;  // 2^64
  const bool exact = !number.is_number_integer() ||
                     (number.is_number_unsigned() ? value < beyond && static_cast<std::uint64_t>(value) == number.get<std::uint64_t>()
                                                  : value < beyond / 2 && static_cast<std::int64_t>(value) == number.get<std::int64_t>());
  if (exact) return Json(value);
  return misfit(Type::number, number, name, no_double);
}

}  // namespace trainstep::spec
