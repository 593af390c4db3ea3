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

#include "base/text.h"
#include "data/fields.h"
#include "data/python_json.h"

namespace trainstep::spec {
namespace {

Error misfit(Type type, const Json& found, std::string_view hint = {}) {
  constexpr std::size_t longest = 60;
  auto text = to_text(found);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return input_error(fmt::format("wants {}, found {}{}", describe(type), text, hint));
}

template <typename T>
std::optional<T> whole(std::string_view text) {
  T number{};
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

// The texts that Python's float() and proto3's JSON have for them.
std::optional<double> special_number(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto word = lower(text);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity" || word == "+inf" || word == "+infinity") return infinity;
  if (word == "-inf" || word == "-infinity") return -infinity;
  return std::nullopt;
}

Result<Json> fit_string(const Json& value) {
  if (value.is_string()) return value;
  if (value.is_number_integer()) return Json(to_text(value));
  return misfit(Type::string, value, "; write it in quotes, as the program shall see it");
}

Result<Json> fit_integer(const Json& value) {
  if (value.is_number_integer()) return value;
  if (value.is_string()) {
    if (const auto number = whole<std::int64_t>(trim(value.get_ref<const std::string&>()))) return Json(*number);
  }
  if (const auto number = whole_number(value)) return Json(*number);
  return misfit(Type::integer, value);
}

Result<Json> fit_number(const Json& value) {
  if (value.is_number()) return value;
  if (value.is_string()) {
    const auto text = trim(value.get_ref<const std::string&>());
    if (const auto number = whole<std::int64_t>(text)) return Json(*number);
    if (const auto number = whole<double>(text); number && std::isfinite(*number)) return Json(*number);
    if (const auto number = special_number(text)) return Json(*number);
  }
  return misfit(Type::number, value);
}

Result<Json> fit_boolean(const Json& value) {
  if (value.is_boolean()) return value;
  if (value.is_string()) {
    // The words that the SDK's own reader takes (distutils.util.strtobool).
    static constexpr std::array<std::string_view, 6> yes{"true", "yes", "y", "t", "on", "1"}, no{"false", "no", "n", "f", "off", "0"};
    const auto text = lower(trim(value.get_ref<const std::string&>()));
    if (std::find(yes.begin(), yes.end(), text) != yes.end()) return Json(true);
    if (std::find(no.begin(), no.end(), text) != no.end()) return Json(false);
  }
  return misfit(Type::boolean, value);
}

Result<Json> fit_structure(const Json& value, Type type) {
  const auto fits = [type](const Json& json) { return type == Type::list ? json.is_array() : json.is_object(); };
  if (fits(value)) return value;
  if (!value.is_string()) return misfit(type, value);
  const auto& text = value.get_ref<const std::string&>();
  auto parsed = parse_python_json(text, "JSON");
  if (!parsed) return misfit(type, value, text.find('\'') == std::string::npos ? "" : "; that is not JSON: texts in it need double quotes");
  if (!fits(*parsed)) return misfit(type, value);
  return parsed;
}

}  // namespace

Type type_of_name(std::string_view declared) {
  auto name = trim(declared);
  if (name.starts_with("typing.")) name.remove_prefix(7);
  const auto bracket = name.find('[');
  const auto base = lower(trim(name.substr(0, bracket)));
  if (base == "optional" && bracket != std::string_view::npos && name.back() == ']')
    return type_of_name(name.substr(bracket + 1, name.size() - bracket - 2));
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
      return "a text";
    case Type::integer:
      return "a whole number";
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

Result<Json> fit(const Json& value, Type type) {
  switch (type) {
    case Type::string:
      return fit_string(value);
    case Type::integer:
      return fit_integer(value);
    case Type::number:
      return fit_number(value);
    case Type::boolean:
      return fit_boolean(value);
    case Type::list:
    case Type::object:
      return fit_structure(value, type);
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
    if (const auto number = whole_number(value)) return *number;
  }
  return value;
}

}  // namespace trainstep::spec
