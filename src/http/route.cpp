// SPDX-License-Identifier: Apache-2.0
#include "http/route.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/text.h"

namespace trainstep::http {
namespace {

bool is_numeric(const std::string& host) {
  std::array<unsigned char, 16> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 || ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// libcurl's default port for proxies.
constexpr int usual_proxy_port = 1080;

// "http://user:password@proxy:3128/"
void take_proxy(Route& route) {
  std::string_view rest = route.proxy;
  const auto colons = rest.find("://");
  const auto scheme = lower(rest.substr(0, colons == std::string_view::npos ? 0 : colons));
  if (colons != std::string_view::npos) rest.remove_prefix(colons + 3);
  rest = rest.substr(0, rest.find('/'));
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  const bool bracket = rest.starts_with('[');
  const auto end = bracket ? std::min(rest.find(']'), rest.size()) : std::min(rest.find(':'), rest.size());
  route.host = lower(rest.substr(bracket ? 1 : 0, end - (bracket ? 1 : 0)));
  route.port = scheme == "https" ? 443 : usual_proxy_port;
  if (const auto colon = rest.find(':', end); colon != std::string_view::npos) {
    const auto number = rest.substr(colon + 1);
    std::from_chars(number.data(), number.data() + number.size(), route.port);
  }
  if (scheme == "socks5" || scheme == "socks") route.proxy = "socks5h" + route.proxy.substr(colons);
  if (scheme == "socks4") route.proxy = "socks4a" + route.proxy.substr(colons);
}

}  // namespace

Route route_of(const Url& url, const Endpoint& endpoint, const Environment& environment) {
  Route route;
  if (!endpoint.direct) route.proxy = endpoint.proxy.empty() ? proxy_for(url, environment) : endpoint.proxy;
  if (route.proxy.empty()) {
    route.host = url.host;
    route.port = url.port != 0 ? url.port : url.scheme == "https" ? 443 : 80;
  } else {
    take_proxy(route);
  }
  route.numeric = is_numeric(route.host);
  return route;
}

}  // namespace trainstep::http
