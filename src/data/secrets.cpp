// SPDX-License-Identifier: Apache-2.0
#include "data/secrets.h"

#include "base/redact.h"

namespace trainstep {

void collect_secrets(std::string_view name, const Json& value, std::vector<std::string>& secrets) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) collect_secrets(sounds_secret(key) ? std::string_view(key) : name, member, secrets);
  } else if (value.is_array()) {
    for (const auto& item : value) collect_secrets(name, item, secrets);
  } else if (!value.is_null() && !value.is_boolean()) {
    for (auto& secret : secrets_in(name, value.is_string() ? value.get_ref<const std::string&>() : to_text(value)))
      secrets.push_back(std::move(secret));
  }
}

Json redacted_json(const Json& value, const std::vector<std::string>& secrets) {
  if (value.is_string()) return redacted(value.get_ref<const std::string&>(), secrets);
  if (value.is_array()) {
    auto list = Json::array();
    for (const auto& item : value) list.push_back(redacted_json(item, secrets));
    return list;
  }
  if (!value.is_object()) return value;
  auto object = Json::object();
  for (const auto& [key, member] : value.items())
    object[key] = sounds_secret(key) && !member.is_null() ? Json("[redacted]") : redacted_json(member, secrets);
  return object;
}

}  // namespace trainstep
