// SPDX-License-Identifier: Apache-2.0
#include "plan/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "data/secrets.h"

namespace trainstep::plan {
namespace {

constexpr std::size_t longest_part = 63;
constexpr std::size_t longest_name = 253;

bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

bool is_dns_label(std::string_view label) {
  const auto good = [](char c) { return is_letter_or_digit(c) && !is_upper(c); };
  return !label.empty() && good(label.front()) && good(label.back()) && std::ranges::all_of(label, [&](char c) { return good(c) || c == '-'; });
}

bool is_name_part(std::string_view part) {
  return !part.empty() && part.size() <= longest_part && is_letter_or_digit(part.front()) && is_letter_or_digit(part.back()) &&
         std::ranges::all_of(part, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

Error not_a_key(std::string_view where, std::string_view kind, std::string_view key) {
  return input_error(
      fmt::format("{}: {} is not a valid {} key: use letters, digits, dashes, dots and underscores, starting and ending with a letter or digit, at "
                  "most {}; a DNS name and a slash may precede them (example.com/team)",
                  where, shown_value(where, Json(key)), kind, longest_part));
}

}  // namespace

bool is_subdomain(std::string_view name) { return name.size() <= longest_name && std::ranges::all_of(split(name, '.'), is_dns_label); }

bool is_qualified_name(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return is_name_part(name);
  return is_subdomain(name.substr(0, slash)) && is_name_part(name.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_name_part(value); }

Result<void> check_label_key(std::string_view where, std::string_view key) {
  if (!is_qualified_name(key)) return not_a_key(where, "label", key);
  return {};
}

Result<void> check_labels(std::string_view where, const Json& labels) {
  for (const auto& [key, value] : labels.items()) {
    TRY(check_label_key(where, key));
    if (is_label_value(value.get_ref<const std::string&>())) continue;
    const auto place = fmt::format("{}.{}", where, key);
    return input_error(
        fmt::format("{}: {} is not a valid label value: use letters, digits, dashes, dots and underscores, starting and ending with a letter or "
                    "digit, at most {}",
                    place, shown_value(place, value), longest_part));
  }
  return {};
}

Result<void> check_annotations(std::string_view where, const Json& annotations) {
  constexpr std::size_t most = 256U << 10U;
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations.items()) {
    if (!is_qualified_name(lower(key))) return not_a_key(where, "annotation", key);
    bytes += key.size() + value.get_ref<const std::string&>().size();
  }
  if (bytes <= most) return {};
  return input_error(fmt::format("{}: {} bytes of keys and values, the Kubernetes limit is {}", where, bytes, most));
}

Result<void> check_resource_name(std::string_view where, std::string_view name) {
  constexpr std::array<std::string_view, 3> standard{"cpu", "memory", "ephemeral-storage"};
  const bool qualified = is_qualified_name(name) && (name.find('/') != std::string_view::npos || name.starts_with("hugepages-"));
  if (qualified || std::ranges::find(standard, name) != standard.end()) return {};
  return input_error(
      fmt::format("{}: {} is not the name of a resource; write cpu, memory, ephemeral-storage, hugepages-SIZE, or DOMAIN/NAME such as nvidia.com/gpu",
                  where, shown_value(where, Json(name))));
}

Result<void> check_data_key(std::string_view where, std::string_view key) {
  const bool valid = !key.empty() && key.size() <= longest_name && key != "." && !key.starts_with("..") &&
                     std::ranges::all_of(key, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
  if (valid) return {};
  return input_error(fmt::format("{}: {} is not a key that a Secret or ConfigMap can have: use letters, digits, dashes, dots and underscores", where,
                                 shown_value(where, Json(key))));
}

}  // namespace trainstep::plan
