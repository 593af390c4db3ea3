// SPDX-License-Identifier: Apache-2.0
#include "http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace trainstep::http {
namespace {

constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

std::optional<int> hex_digit(char c) {
  const auto at = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<int>(at);
}

// In a query '+' is a space, as in HTML forms. A '%' without two hexadecimal digits is kept.
std::string query_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size()) {
      const auto high = hex_digit(text[at + 1]);
      const auto low = hex_digit(text[at + 2]);
      if (high && low) {
        decoded += static_cast<char>(*high * 16 + *low);
        at += 2;
        continue;
      }
    }
    decoded += text[at] == '+' ? ' ' : text[at];
  }
  return decoded;
}

Query parse_query(std::string_view text) {
  Query query;
  for (const auto part : split(text, '&')) {
    if (part.empty()) continue;
    const auto equals = std::min(part.find('='), part.size());
    query.emplace_back(query_decoded(part.substr(0, equals)), query_decoded(part.substr(std::min(equals + 1, part.size()))));
  }
  return query;
}

bool only(std::string_view text, bool (*allowed)(char)) { return !text.empty() && std::all_of(text.begin(), text.end(), allowed); }

bool is_name(char c) { return unreserved.find(c) != std::string_view::npos; }
bool is_address(char c) { return hex_digit(c) || c == ':' || c == '.'; }

Result<int> parse_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535)
    return input_error(fmt::format("the port '{}' is not a number from 1 to 65535", text));
  return port;
}

// "host:6443", "[::1]:6443"
Result<void> parse_authority(std::string_view text, Url& url) {
  if (text.find('@') != std::string_view::npos) return input_error("the address contains a user name or password: use the separate fields instead");
  const bool bracket = text.starts_with('[');
  const auto end = bracket ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return input_error("the bracket '[' before the host is not closed");
  url.host = lower(text.substr(bracket ? 1 : 0, end - (bracket ? 1 : 0)));
  if (!only(url.host, bracket ? is_address : is_name))
    return input_error(url.host.empty() ? "the address has no host" : fmt::format("'{}' is not a valid host name", url.host));
  const auto rest = text.substr(bracket ? end + 1 : end);
  if (rest.empty() || rest == ":") return {};
  if (!rest.starts_with(':')) return input_error("after the bracket ']' only a port may follow");
  ASSIGN(url.port, parse_port(rest.substr(1)));
  return {};
}

}  // namespace

// No error message contains the whole text: its query can be a signature, and what looks like a path can be a password.
Result<Url> Url::parse(std::string_view text) {
  const auto odd = std::find_if(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; });
  if (odd != text.end())
    return input_error(
        fmt::format("character {} of the address is a space, a control character or not ASCII: write it percent-encoded", odd - text.begin() + 1));
  Url url;
  const auto colon = text.find("://");
  url.scheme = colon == std::string_view::npos ? "" : lower(text.substr(0, colon));
  if (url.scheme != "https" && url.scheme != "http") return input_error("the address must begin with https:// or http://");
  text = text.substr(colon + 3);
  text = text.substr(0, text.find('#'));
  const auto query = text.find('?');
  if (query != std::string_view::npos) url.query = parse_query(text.substr(query + 1));
  text = text.substr(0, query);
  const auto slash = std::min(text.find('/'), text.size());
  url.path = text.substr(slash);
  TRY(parse_authority(text.substr(0, slash), url));
  return url;
}

Url Url::with_path(const std::vector<std::string>& segments) const {
  Url url = *this;
  while (url.path.ends_with('/')) url.path.pop_back();
  for (const auto& segment : segments) url.path += '/' + percent_encoded(segment);
  return url;
}

std::string Url::origin() const {
  const bool address = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}", scheme, address ? "[" : "", host, address ? "]" : "", port == 0 ? "" : fmt::format(":{}", port));
}

std::string Url::text() const {
  std::string all = origin() + (path.empty() && !query.empty() ? "/" : path);
  char separator = '?';
  for (const auto& [name, value] : query) {
    all += separator + percent_encoded(name) + '=' + percent_encoded(value);
    separator = '&';
  }
  return all;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_name(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += "0123456789ABCDEF"[byte >> 4U];
      encoded += "0123456789ABCDEF"[byte & 15U];
    }
  }
  return encoded;
}

}  // namespace trainstep::http
