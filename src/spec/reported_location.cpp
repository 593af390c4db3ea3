// SPDX-License-Identifier: Apache-2.0
#include "spec/reported_location.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/printable.h"
#include "base/text.h"

namespace trainstep::spec {
namespace {

constexpr std::array<std::string_view, 10> with_host{"s3", "s3a", "s3n", "gs", "minio", "hf", "http", "https", "oci", "ftp"};

bool is_of_scheme(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; }

struct Parts {
  std::string scheme;
  std::optional<std::string_view> authority;  // between "//" and the next slash
  std::string_view path;                      // including its first slash; without query and fragment
};

std::optional<Parts> parts_of(std::string_view text) {
  const auto colon = text.find(':');
  const auto scheme = text.substr(0, colon);
  const bool fits = colon != std::string_view::npos && scheme.size() > 1 && is_letter(scheme.front()) && std::ranges::all_of(scheme, is_of_scheme);
  if (!fits || !text.substr(colon + 1).starts_with('/')) return std::nullopt;
  Parts parts{lower(scheme), std::nullopt, text.substr(colon + 1)};
  if (parts.scheme != "file") parts.path = parts.path.substr(0, parts.path.find_first_of("?#"));
  if (!parts.path.starts_with("//")) return parts;
  parts.authority = parts.path.substr(2, std::min(parts.path.find('/', 2), parts.path.size()) - 2);
  parts.path.remove_prefix(2 + parts.authority->size());
  return parts;
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    result += low ? static_cast<char>(*high * 16 + *low) : text[i];
    if (low) i += 2;
  }
  return result;
}

// The parts between slashes, ignoring leading and trailing slashes.
std::vector<std::string_view> words_of(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  std::vector<std::string_view> words;
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    words.push_back(trim(path.substr(0, slash)));
    path.remove_prefix(slash + 1);
  }
  words.push_back(trim(path));
  return words;
}

// A registered model with version, stage or alias; or the ID of a logged model.
bool is_model(const std::vector<std::string_view>& words) {
  const auto name = words.front();
  if (name.empty() || words.size() > 2) return false;
  if (words.size() == 2) return !words.back().empty();
  const auto at = name.rfind('@');
  return at == std::string_view::npos ? name.starts_with("m-") && name.size() > 2 : at > 0 && at + 1 < name.size();
}

// "user@host:80" → "host"
std::string_view host_of(std::string_view authority) {
  authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  return authority.starts_with('[') ? authority : authority.substr(0, authority.find(':'));
}

std::string fault_of(const Parts& parts) {
  const auto words = words_of(parts.path);
  if (parts.scheme == "models") return is_model(words) ? "" : "does not have the form models:/NAME/VERSION or models:/NAME@ALIAS";
  if (parts.scheme == "runs") return words.size() > 1 && !words[0].empty() && !words[1].empty() ? "" : "does not have the form runs:/RUN_ID/PATH";
  const auto host = host_of(parts.authority.value_or(""));
  const bool has_path = std::ranges::any_of(words, [](std::string_view word) { return !word.empty(); });
  if (parts.scheme == "mlflow-artifacts" && !has_path) return "has no path after mlflow-artifacts:/";
  const bool named = !host.empty() || (has_path && std::ranges::find(with_host, parts.scheme) == with_host.end());
  if (!named) return fmt::format("has no name after {}://", parts.scheme);
  return host.find(' ') == std::string_view::npos ? "" : fmt::format("has a space in the name after {}://", parts.scheme);
}

ReportedLocation file_of(const Parts& parts, std::string_view whole) {
  const auto host = lower(parts.authority.value_or(""));
  auto path = decoded(parts.path);
  if (!host.empty() && host != "localhost") return {std::string(whole), true, "is a file on another machine"};
  if (path.find_first_not_of('/') == std::string::npos) return {std::string(whole), true, "does not name a file"};
  return {std::move(path), false, {}};
}

}  // namespace

ReportedLocation parse_reported_location(std::string_view text) {
  const auto whole = trim(text);
  const auto parts = parts_of(whole);
  if (!parts) return {std::string(text), false, {}};
  if (parts->scheme == "file") return file_of(*parts, whole);
  auto address = parts->scheme + std::string(whole.substr(parts->scheme.size()));
  if (has_control(whole)) return {std::move(address), true, "contains control characters"};
  return {std::move(address), true, fault_of(*parts)};
}

}  // namespace trainstep::spec
