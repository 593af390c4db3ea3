// SPDX-License-Identifier: Apache-2.0
#include "base/redact.h"

#include <algorithm>
#include <array>

namespace trainstep {
namespace {

constexpr std::string_view mark = "[redacted]";
constexpr std::size_t shortest_secret = 6;

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("-_.~+/=").find(c) != std::string_view::npos;
}

void replace_all(std::string& text, std::string_view what) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + mark.size())) text.replace(at, what.size(), mark);
}

// The run of token characters behind each `prefix` (which is kept if `keep`).
void redact_behind(std::string& text, std::string_view prefix, bool keep) {
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + mark.size())) {
    const auto begin = keep ? at + prefix.size() : at;
    auto end = at + prefix.size();
    while (end < text.size() && is_token_character(text[end])) ++end;
    if (end - begin < shortest_secret) {
      at = end;
      continue;
    }
    text.replace(begin, end - begin, mark);
    at = begin;
  }
}

// "://user:password@" → "://[redacted]@"
void redact_addresses(std::string& text) {
  constexpr std::string_view scheme = "://";
  for (auto at = text.find(scheme); at != std::string::npos; at = text.find(scheme, at + 1)) {
    const auto begin = at + scheme.size();
    const auto end = text.find_first_of("/ \t\n\"'", begin);
    const auto authority = std::string_view(text).substr(begin, end == std::string::npos ? end : end - begin);
    const auto user = authority.rfind('@');
    if (user != std::string_view::npos && authority.substr(0, user).find(':') != std::string_view::npos) text.replace(begin, user, mark);
  }
}

}  // namespace

std::string redacted(std::string_view text, const std::vector<std::string>& secrets) {
  std::string result(text);
  for (const auto& secret : secrets)
    if (secret.size() >= shortest_secret) replace_all(result, secret);
  redact_behind(result, "Bearer ", true);
  redact_behind(result, "eyJ", false);  // {" in base64: how a JSON web token begins
  redact_addresses(result);
  return result;
}

std::vector<std::string> secrets_of_environment(const std::vector<std::string>& variables) {
  constexpr std::array<std::string_view, 6> words{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "KEY"};
  std::vector<std::string> secrets;
  for (const auto& variable : variables) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos) continue;
    const auto name = std::string_view(variable).substr(0, equals);
    if (std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; }))
      secrets.push_back(variable.substr(equals + 1));
  }
  return secrets;
}

}  // namespace trainstep
