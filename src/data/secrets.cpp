// SPDX-License-Identifier: Apache-2.0
#include "data/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/redact.h"

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

// What follows a name: a colon or an equals sign, then the value; with or without quotes. Empty: something else.
std::string_view value_behind(std::string_view text) {
  const auto skip = [&](std::string_view characters) { text.remove_prefix(std::min(text.find_first_not_of(characters), text.size())); };
  skip("\\\"'");
  skip(" \t");
  if (text.empty() || (text.front() != ':' && text.front() != '=')) return {};
  text.remove_prefix(1);
  skip(" \t\\");
  if (text.empty()) return {};
  const char quote = text.front();
  if (quote != '"' && quote != '\'') return text.substr(0, text.find_first_of(" \t\r\n,;}])"));
  text.remove_prefix(1);
  const auto end = text.find_first_of(std::string{quote, '\n'});
  text = text.substr(0, end);
  if (text.ends_with('\\')) text.remove_suffix(1);  // the whole is a string in another
  return text;
}

void collect_written(std::string_view text, std::vector<std::string>& secrets) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_name_character(text[at])) {
      ++at;
      continue;
    }
    auto end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (sounds_secret(text.substr(at, end - at)))
      if (const auto value = value_behind(text.substr(end)); !value.empty()) secrets.emplace_back(value);
    at = end;
  }
}

// A word in it sounds like a secret's name, or somebody stands before a host ("me:password@host"): what else is in it is not known.
bool may_hold_secret(std::string_view text) {
  if (const auto at = text.find('@'); at != std::string_view::npos && text.substr(0, at).find(':') != std::string_view::npos) return true;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = begin;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end > begin && sounds_secret(text.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

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

std::string shown_value(std::string_view place, const Json& value) {
  constexpr std::size_t longest = 60;
  const bool text_of_secrets = value.is_structured() || value.is_string() ? may_hold_secret(to_text(value)) : false;
  if ((any_part_sounds_secret(place) || text_of_secrets) && !value.is_null() && !value.is_boolean()) {
    const auto type = type_name(value);
    return fmt::format("{} {} that is not shown here", type == "object" ? "an" : "a", type);
  }
  auto text = to_text(redacted_json(value, {}));
  if (text.size() <= longest) return text;
  auto length = longest;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  return text.substr(0, length) + "…";
}

Error without_secrets_of(std::string_view text, Error error) {
  std::vector<std::string> secrets;
  collect_written(text, secrets);
  error.message = redacted(error.message, secrets);
  return error;
}

}  // namespace trainstep
