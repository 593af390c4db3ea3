// SPDX-License-Identifier: Apache-2.0
#include "base/written_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/redact.h"

namespace trainstep {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// Of what stands in a text most is no name, and what follows tells it: a text of megabytes is looked through before an error of it is said.
bool may_follow_name(char c) { return std::string_view(":=\\\"' \t").find(c) != std::string_view::npos; }

void skip(std::string_view& text, std::string_view characters) { text.remove_prefix(std::min(text.find_first_not_of(characters), text.size())); }

bool is_word(std::string_view word, std::string_view small) {
  return std::ranges::equal(word, small, {}, [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
}

// Up to a blank or a delimiter; with the scheme of a header before it ("Bearer x", "token x") as a whole.
std::size_t unquoted_length(std::string_view text) {
  constexpr std::string_view stops = " \t\r\n,;}])";
  constexpr std::array<std::string_view, 8> schemes{"bearer", "basic", "token", "apikey", "api-key", "key", "digest", "negotiate"};
  const auto blank = std::min(text.find(' '), text.size());
  const bool scheme = std::ranges::any_of(schemes, [&](std::string_view name) { return is_word(text.substr(0, blank), name); });
  return std::min(text.find_first_of(stops, scheme ? std::min(blank + 1, text.size()) : 0), text.size());
}

// Where a value begins behind a name: a colon or an equals sign before it; behind a flag a comma or a blank will do. Empty: something else follows.
std::string_view behind_name(std::string_view text, bool flag) {
  const auto before = text.size();
  skip(text, "\\\"'");
  skip(text, " \t");
  if (text.empty()) return {};
  const bool set = text.front() == ':' || text.front() == '=';
  if (set || (flag && text.front() == ','))
    text.remove_prefix(1);
  else if (!flag || text.size() == before)
    return {};
  skip(text, flag ? " \t\r\n\\" : " \t\\");
  const bool another_flag = !set && (text.starts_with('-') || text.starts_with("\"-") || text.starts_with("'-"));
  return another_flag ? std::string_view() : text;
}

// The value that begins there, without its quotes.
std::string_view value_at(std::string_view text) {
  const char quote = text.front();
  if (quote != '"' && quote != '\'') {
    const auto value = text.substr(0, unquoted_length(text));
    return value.substr(0, value.find_last_not_of("\"'") + 1);  // they close what is around the name: 'serve --token x'
  }
  text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(std::string{quote, '\n'}));
  if (text.ends_with('\\')) text.remove_suffix(1);  // the whole is a string in another
  return text;
}

// What goes on as a sentence behind a colon and a blank: "token: must not be empty", "/keys/0/access_key: Permission denied". A short word is none of
// those that redacted() looks for, and a path's last part is a file's name.
bool is_prose(std::string_view text, std::string_view name, std::string_view value) {
  constexpr std::size_t shortest_secret = 6;
  const auto place = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - text.data()); };
  const auto rest = text.substr(place(value) + value.size());
  const bool goes_on = rest.size() > 1 && rest[0] == ' ' && std::isalpha(static_cast<unsigned char>(rest[1])) != 0;
  const bool a_word = std::ranges::all_of(value, [](unsigned char c) { return std::isalpha(c) != 0; });
  if (!goes_on || !a_word || !text.substr(place(name) + name.size()).starts_with(": ")) return false;
  const auto before = text.substr(0, place(name));
  const auto begin = before.find_last_of(" \t\r\n\"'=,;([{");
  return value.size() < shortest_secret || before.find('/', begin == std::string_view::npos ? 0 : begin) != std::string_view::npos;
}

// "-----BEGIN EC PRIVATE KEY-----" … "-----END EC PRIVATE KEY-----", or as much as is there; empty: it begins something else.
std::string_view private_key_at(std::string_view text) {
  constexpr std::string_view begin = "-----BEGIN ", end = "-----END ", dashes = "-----";
  if (!text.starts_with(begin)) return {};
  const auto title_end = text.find(dashes, begin.size());
  if (title_end == std::string_view::npos || !text.substr(0, title_end).ends_with("PRIVATE KEY")) return {};
  const auto last = text.find(end, title_end);
  const auto close = last == std::string_view::npos ? last : text.find(dashes, last + end.size());
  return text.substr(0, close == std::string_view::npos ? close : close + dashes.size());
}

// `secrets` are views of `text`, in its order.
std::string without(std::string_view text, const std::vector<std::string_view>& secrets) {
  std::string result;
  std::size_t from = 0;
  for (const auto secret : secrets) {
    const auto at = static_cast<std::size_t>(secret.data() - text.data());
    result += text.substr(from, at - from);
    result += "[redacted]";
    from = at + secret.size();
  }
  return result += text.substr(from);
}

}  // namespace

bool is_secret_flag(std::string_view word) { return word.starts_with('-') && std::ranges::all_of(word, is_name_character) && sounds_secret(word); }

std::vector<std::string_view> written_secrets(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_name_character(text[at])) {
      ++at;
      continue;
    }
    if (const auto key = text[at] == '-' ? private_key_at(text.substr(at)) : std::string_view(); !key.empty()) {
      found.push_back(key);
      at += key.size();
      continue;
    }
    auto end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end < text.size() && text[at] != '-' && !may_follow_name(text[end])) {
      at = end;
      continue;
    }
    const auto name = text.substr(at, end - at);
    const auto rest = behind_name(text.substr(end), name.starts_with('-'));  // first: few words are followed by one
    at = end;
    if (rest.empty() || !sounds_secret(name)) continue;  // a value may be as long as the text: it is read of secrets alone
    const auto value = value_at(rest);
    if (value.empty() || is_prose(text, name, value)) continue;
    if (!value.starts_with("[redacted")) found.push_back(value);
    at = static_cast<std::size_t>(value.data() - text.data()) + value.size();
  }
  return found;
}

std::string without_written_secrets(std::string_view text) { return without(text, written_secrets(text)); }

std::string without_quoted_secrets(std::string_view message) {
  auto secrets = written_secrets(message);
  std::erase_if(secrets, [&](std::string_view secret) {
    auto before = message.substr(0, static_cast<std::size_t>(secret.data() - message.data()));
    if (before.ends_with('"') || before.ends_with('\'')) before.remove_suffix(1);
    return !before.ends_with('=') && std::ranges::count(before, '"') % 2 == 0;
  });
  return without(message, secrets);
}

}  // namespace trainstep
