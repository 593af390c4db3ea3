// SPDX-License-Identifier: Apache-2.0
#include "data/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/redact.h"
#include "base/written_secrets.h"
#include "data/digest.h"
#include "data/tree.h"

namespace trainstep {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// "train_parameters.api_key[0]": train_parameters, api_key, 0.
bool any_part_sounds_secret(std::string_view place) {
  while (!place.empty()) {
    const auto end = std::min(place.find_first_of(".["), place.size());
    if (sounds_secret(place.substr(0, end))) return true;
    place.remove_prefix(std::min(end + 1, place.size()));
  }
  return false;
}

// Whether it contains the name of a secret or user information of a URL ("me:password@host"); the rest may then be a secret.
bool may_hold_secret(std::string_view text) {
  if (!written_secrets(text).empty()) return true;  // a private key has no name
  if (const auto at = text.find('@'); at != std::string_view::npos && text.substr(0, at).find(':') != std::string_view::npos) return true;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = begin;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end > begin && sounds_secret(text.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

bool is_text_that(const Json* value, bool (*predicate)(std::string_view)) {
  return value != nullptr && value->is_string() && predicate(value->get_ref<const std::string&>());
}

// ["--token", "x"]: x.
bool is_behind_secret_flag(const Json* before, const Json& item) {
  return is_text_that(before, is_secret_flag) && !item.is_object() && !is_text_that(&item, is_flag);
}

// `name`: of the list; empty: it has none.
Json redacted_list(std::string_view name, const Json& value, const std::vector<std::string>& secrets) {
  auto list = Json::array();
  const Json* before = nullptr;
  for (const auto& item : value) {
    const bool secret = is_behind_secret_flag(before, item) || (item.is_string() && is_secret_item(name, item.get_ref<const std::string&>()));
    list.push_back(secret ? Json("[redacted]") : redacted_json(item, secrets));
    before = &item;
  }
  return list;
}

}  // namespace

void collect_secrets_of_containers(const Json& part, std::vector<std::string>& secrets) {
  for (const auto& [key, member] : part.items()) {
    const auto *name = find(member, "name"), *value = find(member, "value");
    if (key == "command" || key == "args")
      collect_secrets("", member, secrets);
    else if (name != nullptr && name->is_string() && value != nullptr && value->is_string())
      collect_secrets(name->get_ref<const std::string&>(), *value, secrets);
    else if (member.is_structured())
      collect_secrets_of_containers(member, secrets);
  }
}

void collect_secrets(std::string_view name, const Json& value, std::vector<std::string>& secrets) {
  if (value.is_object()) {
    const bool secret = sounds_secret(name);
    for (const auto& [key, member] : value.items()) collect_secrets(secret && !sounds_secret(key) ? name : std::string_view(key), member, secrets);
  } else if (value.is_array()) {
    const Json* before = nullptr;
    for (const auto& item : value) {
      collect_secrets(is_behind_secret_flag(before, item) ? std::string_view(before->get_ref<const std::string&>()) : name, item, secrets);
      if (!sounds_secret(name) && item.is_string() && is_secret_item(name, item.get_ref<const std::string&>()))
        secrets.push_back(item.get<std::string>());
      before = &item;
    }
  } else if (!value.is_null() && !value.is_boolean()) {
    for (auto& secret : secrets_in(name, value.is_string() ? value.get_ref<const std::string&>() : to_text(value)))
      secrets.push_back(std::move(secret));
  }
}

std::vector<std::string> values_of_secret(const Json& secret) {
  std::vector<std::string> values;
  for (const auto* member : {"stringData", "data"}) {
    const auto* map = secret.is_object() ? find(secret, member) : nullptr;
    if (map == nullptr || !map->is_object()) continue;
    for (const auto& [key, value] : map->items()) {
      if (!value.is_string()) continue;
      const auto& text = value.get_ref<const std::string&>();
      values.push_back(text);
      if (const auto decoded = decode_base64(text); decoded && std::string_view(member) == "data") values.push_back(*decoded);
    }
  }
  add_base64(values);
  return values;
}

void add_base64(std::vector<std::string>& secrets) {
  const auto count = secrets.size();
  for (std::size_t i = 0; i < count; ++i)
    if (secrets[i].size() >= min_secret_length) secrets.push_back(encode_base64(secrets[i]));
}

Json redacted_json(const Json& value, const std::vector<std::string>& secrets) {
  if (value.is_string()) return without_written_secrets(redacted(value.get_ref<const std::string&>(), secrets));
  if (value.is_array()) return redacted_list("", value, secrets);
  if (!value.is_object()) return value;
  std::vector<std::pair<std::string, Json>> members;
  members.reserve(value.size());
  const bool names_one = is_text_that(find(value, "name"), sounds_secret);
  for (const auto& [key, member] : value.items())
    if ((sounds_secret(key) || (names_one && key == "value")) && !member.is_null())
      members.emplace_back(key, "[redacted]");
    else
      members.emplace_back(key, member.is_array() ? redacted_list(key, member, secrets) : redacted_json(member, secrets));
  return make_object(std::move(members));
}

std::string shown_value(std::string_view place, const Json& value) {
  constexpr std::size_t longest = 60;
  const bool text_of_secrets = value.is_structured() || value.is_string() ? may_hold_secret(to_text(value)) : false;
  if ((any_part_sounds_secret(place) || text_of_secrets) && !value.is_null() && !value.is_boolean())
    return fmt::format("{} (not shown)", type_name(value));
  auto text = to_text(redacted_json(value, {}));
  if (text.size() <= longest) return text;
  auto length = longest;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  return text.substr(0, length) + "…";
}

Error without_secrets_of(std::string_view text, Error error) {
  const auto written = written_secrets(text);
  error.message = redacted(error.message, {written.begin(), written.end()});
  return error;
}

}  // namespace trainstep
