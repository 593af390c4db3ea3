// SPDX-License-Identifier: Apache-2.0
#include "http/process_environment.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace trainstep::http {
namespace {

// IPv4 addresses are stored as IPv6 (::ffff:a.b.c.d), so that one comparison suffices.
using Address = std::array<unsigned char, 16>;

struct Range {
  Address address{};
  int bits = 128;
};

std::optional<Range> parse_address(const std::string& text) {
  Range range;
  if (::inet_pton(AF_INET6, text.c_str(), range.address.data()) == 1) return range;
  range.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (::inet_pton(AF_INET, text.c_str(), range.address.data() + 12) != 1) return std::nullopt;
  return range;
}

// "10.0.0.0/8"
std::optional<Range> parse_range(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto range = parse_address(std::string(text.substr(0, slash)));
  const auto length = text.substr(slash + 1);
  int bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (!range || error != std::errc() || end != length.data() + length.size()) return std::nullopt;
  if (text.find(':') == std::string_view::npos) bits += 96;
  if (bits < 0 || bits > 128) return std::nullopt;
  range->bits = bits;
  return range;
}

bool contains(const Range& range, const Address& address) {
  for (int bit = 0; bit < range.bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const auto mask = 0x80U >> static_cast<unsigned>(bit % 8);
    if (((range.address.at(byte) ^ address.at(byte)) & mask) != 0) return false;
  }
  return true;
}

// "[::1]:80" → "::1", "host:80" → "host"; a port must equal `port`. nullopt: it is a different one.
std::optional<std::string_view> without_port(std::string_view rule, int port) {
  std::string_view host = rule;
  std::string_view number;
  if (rule.starts_with('[')) {
    const auto close = std::min(rule.find(']'), rule.size());
    host = rule.substr(1, close - 1);
    number = rule.substr(std::min(close + 1, rule.size()));
  } else if (std::count(rule.begin(), rule.end(), ':') == 1) {
    host = rule.substr(0, rule.find(':'));
    number = rule.substr(rule.find(':'));
  }
  if (!number.empty() && number != ":" + std::to_string(port)) return std::nullopt;
  return host;
}

bool excepted(std::string_view rule, const std::string& host, const std::optional<Range>& address, int port) {
  if (rule == "*") return true;
  if (const auto range = parse_range(rule)) return address && contains(*range, address->address);
  const auto name = without_port(rule, port);
  if (!name || name->empty()) return false;
  if (address) {
    const auto own = parse_address(std::string(*name));
    return own && own->address == address->address;
  }
  auto suffix = lower(*name);
  if (suffix.starts_with("*.")) suffix.erase(0, 1);
  if (suffix.starts_with('.')) return host.ends_with(suffix);
  return host == suffix || host.ends_with('.' + suffix);
}

bool is_here(const std::string& host, const std::optional<Range>& address) {
  if (!address) return host == "localhost" || host.ends_with(".localhost");
  constexpr Range six{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128};
  constexpr Range four{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127}, 96 + 8};
  return contains(six, address->address) || contains(four, address->address);
}

std::optional<std::string> first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = environment(name)) return value;
  return std::nullopt;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::string proxy_for(const Url& url, const Environment& environment) {
  const auto proxy = url.scheme == "https" ? first_of(environment, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                           : first_of(environment, {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
  auto host = url.host;
  if (host.ends_with('.')) host.pop_back();
  const auto address = parse_address(host);
  if (!proxy || is_here(host, address)) return {};
  const int port = url.port != 0 ? url.port : url.scheme == "https" ? 443 : 80;
  auto rules = first_of(environment, {"no_proxy", "NO_PROXY"}).value_or("");
  std::replace(rules.begin(), rules.end(), ' ', ',');
  for (const auto rule : split(rules, ','))
    if (!rule.empty() && excepted(rule, host, address, port)) return {};
  return *proxy;
}

std::optional<std::string> system_certificates(const Environment& environment) {
  if (auto file = environment("SSL_CERT_FILE")) return file;  // even if it cannot be read: the error then names it
  constexpr std::array<const char*, 6> files = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Alpine, Arch
      "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL, UBI
      "/etc/ssl/ca-bundle.pem",                             // SUSE
      "/etc/pki/tls/cacert.pem",                            // OpenELEC and others
      "/etc/ssl/cert.pem",                                  // Alpine, BSD
  };
  for (const char* file : files)
    if (::access(file, R_OK) == 0) return file;
  return std::nullopt;
}

}  // namespace trainstep::http
