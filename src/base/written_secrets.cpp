// SPDX-License-Identifier: Apache-2.0
#include "base/written_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/interruptions.h"
#include "base/redact.h"

namespace trainstep {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// Most words of a text are not names, which the next character shows. This check keeps it fast: texts of several megabytes are searched before an
// error about them is printed.
bool may_follow_name(char c) { return std::string_view(":=\\\"' \t").find(c) != std::string_view::npos; }

void skip(std::string_view& text, std::string_view characters) { text.remove_prefix(std::min(text.find_first_not_of(characters), text.size())); }

bool is_word(std::string_view word, std::string_view small) {
  return std::ranges::equal(word, small, {}, [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
}

// The length up to a blank or a delimiter; an HTTP authentication scheme before it ("Bearer x", "token x") is included.
std::size_t unquoted_length(std::string_view text) {
  constexpr std::string_view stops = " \t\r\n,;}])";
  constexpr std::array<std::string_view, 8> schemes{"bearer", "basic", "token", "apikey", "api-key", "key", "digest", "negotiate"};
  const auto blank = std::min(text.find_first_of(" \t"), text.size());
  const bool scheme = std::ranges::any_of(schemes, [&](std::string_view name) { return is_word(text.substr(0, blank), name); });
  // YAML anchors and tags precede a value: "&key x", "!!str x".
  const bool marked = blank > 1 && (text.starts_with('&') || text.starts_with('!'));
  const auto from = scheme || marked ? std::min(text.find_first_not_of(" \t", blank), text.size()) : 0;
  return std::min(text.find_first_of(stops, from), text.size());
}

// Skips blanks, a line break, and the dash of the next item of a YAML list.
void skip_to_next_word(std::string_view& text) {
  skip(text, " \t\r\n\\");
  if (!text.starts_with("- ")) return;
  text.remove_prefix(2);
  skip(text, " \t");
}

// Behind a sign that is part of a quoted name: {"TOKEN =": "x"}; the text itself if it is none.
std::string_view behind_quoted_sign(std::string_view text) {
  auto rest = text;
  skip(rest, "\\\"'");
  if (rest.size() == text.size()) return text;
  skip(rest, " \t");
  if (!rest.starts_with(':')) return text;
  rest.remove_prefix(1);
  skip(rest, " \t\\");
  return rest;
}

// The value after a name: after a colon or an equals sign; after a flag also after a comma or a blank. Empty: no value follows.
std::string_view behind_name(std::string_view text, bool flag) {
  const auto before = text.size();
  skip(text, "\\\"'");
  if (text.starts_with("] =") || text.starts_with("]=")) text.remove_prefix(1);  // os.environ["TOKEN"] = …
  flag ? skip_to_next_word(text) : skip(text, " \t");
  if (text.empty()) return {};
  const bool set = text.front() == ':' || text.front() == '=';
  if (set || (flag && text.front() == ','))
    text.remove_prefix(text.starts_with(":=") || text.starts_with("==") || text.starts_with("=>") ? 2 : 1);
  else if (!flag || text.size() == before)
    return {};
  skip(text, flag ? " \t\r\n\\" : " \t\\");
  if (set) return behind_quoted_sign(text);
  constexpr std::size_t max_flag_length = 200;
  auto word = text.substr(0, max_flag_length);
  word = word.substr(0, word.find_first_of(" \t\r\n,]\"'", 1));
  skip(word, "\"'");
  return is_flag(word) ? std::string_view() : text;
}

// The second argument of a call: os.environ.setdefault("TOKEN", "x"). Empty: the name from `begin` to `end` is not the first argument, or no string
// follows.
std::string_view behind_first_word(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view quotes = "\"'";
  if (begin < 2 || text[begin - 2] != '(' || quotes.find(text[begin - 1]) == std::string_view::npos) return {};
  if (end >= text.size() || text[end] != text[begin - 1]) return {};
  auto rest = text.substr(end + 1);
  skip(rest, " \t\r\n");
  if (!rest.starts_with(',')) return {};
  rest.remove_prefix(1);
  skip(rest, " \t\r\n");
  return !rest.empty() && quotes.find(rest.front()) != std::string_view::npos ? rest : std::string_view();
}

// The value at the start of `text`, without its quotes.
std::string_view value_at(std::string_view text) {
  const char quote = text.front();
  if (quote != '"' && quote != '\'') {
    const auto value = text.substr(0, unquoted_length(text));
    return value.substr(0, value.find_last_not_of("\"'") + 1);  // closing quotes around name and value: 'serve --token x'
  }
  if (const auto three = std::string(3, quote); text.starts_with(three)) {
    text.remove_prefix(three.size());
    return text.substr(0, text.find(three));
  }
  text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(std::string{quote, '\n'}));
  if (text.ends_with('\\')) text.remove_suffix(1);  // the text is a string within another string
  return text;
}

std::string_view line_of(std::string_view text) { return text.substr(0, text.find('\n')); }

bool is_mapping(std::string_view line) {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  return colon != std::string_view::npos && (colon + 1 == line.size() || line[colon + 1] == ' ') &&
         std::ranges::all_of(name, [](char c) { return is_name_character(c) || c == '"' || c == '\''; });
}

// A YAML value below its name: the lines that are indented deeper. A mapping there has names of its own. `rest`: the text after the colon. Empty: no
// such value.
std::string_view value_below(std::string_view text, std::string_view name, std::string_view rest) {
  const bool block = rest.starts_with('|') || rest.starts_with('>');
  if (block) skip(rest, "|>+-0123456789");
  skip(rest, " \t\r");
  if (!rest.starts_with('\n')) return {};
  const auto place = static_cast<std::size_t>(name.data() - text.data());
  const auto line_begin = text.rfind('\n', place) + 1;  // npos + 1 is 0
  const auto depth = place - line_begin;
  if (text.substr(line_begin, depth).find_first_not_of(" -\"'") != std::string_view::npos) return {};
  const char* begin = nullptr;
  const char* end = nullptr;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const auto line = line_of(rest);
    const auto indent = line.find_first_not_of(" \t\r");
    if (indent != std::string_view::npos) {
      if (indent <= depth) break;
      if (begin == nullptr && !block && is_mapping(line.substr(indent))) return {};
      if (begin == nullptr) begin = line.data() + indent;
      end = line.data() + line.size();
    }
    rest.remove_prefix(line.size());
  }
  return begin == nullptr ? std::string_view() : std::string_view(begin, static_cast<std::size_t>(end - begin));
}

// A Python value after a type annotation: "key: str = 'x'". Returns annotation and value. Empty: not of that form.
std::string_view typed_value(std::string_view rest) {
  const auto type_end = rest.find_first_of(" \t=,;}()\"'\r\n");
  auto behind = rest.substr(std::min(type_end, rest.size()));
  if (behind.empty() || (behind.front() != ' ' && behind.front() != '\t')) return {};
  skip(behind, " \t");
  if (!behind.starts_with('=') || behind.starts_with("==")) return {};
  behind.remove_prefix(1);
  skip(behind, " \t");
  if (behind.empty()) return {};
  const auto value = value_at(behind);
  return rest.substr(0, static_cast<std::size_t>(value.data() + value.size() - rest.data()));
}

// Removes the last word and the blanks around it; words longer than the limit are none of the keywords searched for.
std::string_view drop_last_word(std::string_view& text) {
  constexpr std::size_t longest = 200;
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  std::size_t length = 0;
  while (!text.empty() && is_blank(text.back()) && length++ < longest) text.remove_suffix(1);
  length = 0;
  while (length < std::min(text.size(), longest) && !is_blank(text[text.size() - 1 - length])) ++length;
  const auto word = text.substr(text.size() - length);
  text.remove_suffix(length);
  return word;
}

// "machine m login me password x" in the format of ~/.netrc, possibly over several lines. Empty: not of that form.
std::string_view netrc_password(std::string_view text, std::string_view name) {
  if (name != "password") return {};
  auto before = text.substr(0, static_cast<std::size_t>(name.data() - text.data()));
  drop_last_word(before);  // the login name
  if (drop_last_word(before) != "login") return {};
  const auto machine = drop_last_word(before);
  if (machine != "default" && drop_last_word(before) != "machine") return {};
  auto rest = text.substr(static_cast<std::size_t>(name.data() - text.data()) + name.size());
  skip(rest, " \t\r\n");
  return rest.substr(0, rest.find_first_of(" \t\r\n"));
}

// Whether the text after a colon and a blank is a sentence and not a value: "token: must not be empty", "/keys/0/access_key: Permission denied". A
// short word is too short for redacted(), and the last component of a path is a file name.
bool is_prose(std::string_view text, std::string_view name, std::string_view value) {
  constexpr std::size_t min_secret_length = 6;
  const auto place = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - text.data()); };
  const auto rest = text.substr(place(value) + value.size());
  const bool goes_on = rest.size() > 1 && rest[0] == ' ' && std::isalpha(static_cast<unsigned char>(rest[1])) != 0;
  const bool a_word = std::ranges::all_of(value, [](unsigned char c) { return std::isalpha(c) != 0; });
  if (!goes_on || !a_word || !text.substr(place(name) + name.size()).starts_with(": ")) return false;
  const auto before = text.substr(0, place(name));
  const auto begin = before.find_last_of(" \t\r\n\"'=,;([{");
  return value.size() < min_secret_length || before.find('/', begin == std::string_view::npos ? 0 : begin) != std::string_view::npos;
}

// A quota's number of Secrets: "exceeded quota: q, requested: secrets=1, used: secrets=20".
bool is_count(std::string_view name, std::string_view value) {
  constexpr std::size_t longest = 4;
  return name == "secrets" && value.size() <= longest && std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "-----BEGIN EC PRIVATE KEY-----" … "-----END EC PRIVATE KEY-----", or as much of it as there is; empty: not a private key.
std::string_view private_key_at(std::string_view text) {
  constexpr std::string_view begin = "-----BEGIN ", end = "-----END ", dashes = "-----";
  if (!text.starts_with(begin)) return {};
  const auto title_end = text.find(dashes, begin.size());
  if (title_end == std::string_view::npos || !text.substr(0, title_end).ends_with("PRIVATE KEY")) return {};
  const auto last = text.find(end, title_end);
  const auto close = last == std::string_view::npos ? last : text.find(dashes, last + end.size());
  return text.substr(0, close == std::string_view::npos ? close : close + dashes.size());
}

// `secrets` are views of `text`, in order.
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

// Finds the secrets in a list of words, '["x", "y"]' or "[x, y]", at the start of `rest`. Returns the text after the last of these words.
std::string_view take_items(std::string_view name, std::string_view rest, std::vector<std::string_view>& found) {
  rest.remove_prefix(1);
  while (true) {
    skip(rest, " \t\r\n,\\");
    if (rest.empty() || rest.front() == ']' || rest.front() == '[' || rest.front() == '{') return rest;
    const bool quoted = rest.front() == '"' || rest.front() == '\'';
    const auto item = quoted ? value_at(rest) : rest.substr(0, rest.find_first_of(" \t\r\n,]"));
    if (!item.empty() && !item.starts_with("[redacted") && is_secret_item(name, item)) found.push_back(item);
    rest.remove_prefix(static_cast<std::size_t>(item.data() + item.size() - rest.data()));
    if (quoted) skip(rest, "\\\"'");
    skip(rest, " \t\r\n");
    if (rest.empty() || rest.front() != ',') return rest;
  }
}

bool is_list(std::string_view rest) { return rest.starts_with('[') && !rest.starts_with("[redacted"); }

}  // namespace

bool is_flag(std::string_view word) {
  const auto name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  return word.starts_with('-') &&
         std::ranges::none_of(name.substr(0, name.find('=')), [](unsigned char c) { return std::isdigit(c) != 0 || std::isupper(c) != 0; });
}

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
    auto rest = behind_first_word(text, at, end);
    if (rest.empty()) rest = behind_name(text.substr(end), name.starts_with('-'));  // before sounds_secret(): few words are followed by a value
    at = end;
    auto value = rest.empty() ? netrc_password(text, name) : std::string_view();
    if (value.empty() && is_list(rest) && (is_word(name, "tokens") || sounds_secret(name))) {
      at = static_cast<std::size_t>(take_items(name, rest, found).data() - text.data());
      continue;
    }
    if ((rest.empty() && value.empty()) || !sounds_secret(name)) continue;  // a value may be as long as the text: only parsed for secret names
    if (value.empty()) value = value_below(text, name, rest);
    if (value.empty()) value = typed_value(rest);
    if (value.empty()) value = value_at(rest);
    if (value.empty() || is_prose(text, name, value) || is_count(name, value)) continue;
    if (!value.starts_with("[redacted")) found.push_back(value);
    at = static_cast<std::size_t>(value.data() - text.data()) + value.size();
  }
  return found;
}

namespace {

std::string without_quoted(std::string_view message) {
  auto secrets = written_secrets(message);
  std::erase_if(secrets, [&](std::string_view secret) {
    auto before = message.substr(0, static_cast<std::size_t>(secret.data() - message.data()));
    if (before.ends_with('"') || before.ends_with('\'')) before.remove_suffix(1);
    return !before.ends_with('=') && std::ranges::count(before, '"') % 2 == 0;
  });
  return without(message, secrets);
}

}  // namespace

std::string without_written_secrets(std::string_view text) {
  return redact_despite_interruptions(text, [](std::string_view shown) { return without(shown, written_secrets(shown)); });
}

std::string without_quoted_secrets(std::string_view message) { return redact_despite_interruptions(message, without_quoted); }

}  // namespace trainstep
