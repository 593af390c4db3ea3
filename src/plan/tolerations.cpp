// SPDX-License-Identifier: Apache-2.0
#include "plan/tolerations.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "data/fields.h"
#include "data/secrets.h"
#include "plan/labels.h"

namespace trainstep::plan {
namespace {

Result<void> check(const Json& toleration, const Fields& fields) {
  const auto key = text_of(toleration, "key"), value = text_of(toleration, "value");
  const bool exists = text_of(toleration, "operator") == "Exists";
  if (!key.empty()) TRY(check_label_key(fields.path("key"), key));
  if (key.empty() && !exists) return input_error(fields.path("key") + R"(: is missing, which requires "operator": "Exists")");
  if (exists && !value.empty()) return input_error(fields.path("value") + R"(: the operator "Exists" takes no value; omit it)");
  if (!is_label_value(value))
    return input_error(fmt::format("{}: {} is not a valid label value", fields.path("value"), shown_value(fields.path("value"), value)));
  if (toleration.contains("tolerationSeconds") && text_of(toleration, "effect") != "NoExecute")
    return input_error(fields.path("tolerationSeconds") + R"(: requires "effect": "NoExecute")");
  return {};
}

Result<Json> read_toleration(const Json& given, const std::string& place) {
  Fields fields(given, place);
  Json read = Json::object();
  const auto put = [&](const char* key, auto value) {
    if (value) read[key] = std::move(*value);
  };
  put("key", fields.text("key"));
  put("operator", fields.choice("operator", {"Exists", "Equal"}));
  put("value", fields.text("value"));
  put("effect", fields.choice("effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
  put("tolerationSeconds", fields.integer("tolerationSeconds", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  TRY(fields.done());
  TRY(check(read, fields));
  return read;
}

}  // namespace

Result<Json> read_tolerations(const Json& list, const std::string& where) {
  auto read = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_null() || is_blank(list[i])) continue;
    ASSIGN(auto toleration, read_toleration(list[i], fmt::format("{}[{}]", where, i)));
    read.push_back(std::move(toleration));
  }
  return read;
}

}  // namespace trainstep::plan
