// SPDX-License-Identifier: Apache-2.0
#include "step/short_forms.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "data/fields.h"

namespace trainstep::step {
namespace {

// 2, 2.0 and "2" are the same, and so are PyTorch and pytorch.
std::string comparable(const Json& value) {
  if (const auto whole = whole_number(value)) return fmt::format("{}", *whole);
  return value.is_string() ? lower(trim(value.get_ref<const std::string&>())) : to_text(value);
}

Result<void> add_key(std::string_view flag, const std::string& value, const std::string& key, Json& distribution) {
  if (value.empty()) return {};
  const auto* other = find(distribution, key);
  if (other == nullptr || other->is_null() || is_blank(*other)) {
    distribution[key] = value;
    return {};
  }
  if (comparable(*other) == comparable(value)) return {};
  return usage_error(
      fmt::format("{} {} contradicts distribution_specification.{}, which is {}; omit one of them", flag, value, key, to_text(*other)));
}

}  // namespace

Result<void> apply(const ShortForms& given, Json& distribution) {
  TRY(add_key("-n", given.workers, "number_of_workers", distribution));
  return add_key("--type", given.type, "distribution_type", distribution);
}

}  // namespace trainstep::step
