// SPDX-License-Identifier: Apache-2.0
#include "http/process_environment.h"

#include <map>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::http;

namespace {

Environment of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

}  // namespace

TEST_CASE("the proxy follows the scheme, in small letters first") {
  const auto https = Url::parse("https://api.example").value();
  const auto http = Url::parse("http://api.example").value();
  CHECK(proxy_for(https, of({})).empty());
  CHECK(proxy_for(https, of({{"HTTPS_PROXY", "http://p:1"}, {"HTTP_PROXY", "http://q:1"}})) == "http://p:1");
  CHECK(proxy_for(http, of({{"HTTPS_PROXY", "http://p:1"}, {"HTTP_PROXY", "http://q:1"}})) == "http://q:1");
  CHECK(proxy_for(https, of({{"HTTPS_PROXY", "http://p:1"}, {"https_proxy", "http://r:1"}})) == "http://r:1");
  CHECK(proxy_for(http, of({{"HTTPS_PROXY", "http://p:1"}})).empty());
  CHECK(proxy_for(http, of({{"ALL_PROXY", "http://a:1"}})) == "http://a:1");
}

TEST_CASE("NO_PROXY excepts hosts, the domains below them, addresses, ranges and ports") {
  struct Row {
    std::string url;
    std::string rules;
    bool by_proxy;
  };
  const std::vector<Row> rows = {
      {"https://api.example", "", true},
      {"https://api.example", "*", false},
      {"https://api.example", "example", false},
      {"https://api.example", ".example", false},
      {"https://api.example", "*.example", false},
      {"https://api.example.", "API.Example", false},
      {"https://example", ".example", true},
      {"https://badexample", "example", true},
      {"https://api.example", "pi.example", true},
      {"https://kubernetes.default.svc", "localhost, .svc,.cluster.local", false},
      {"https://kubernetes.default.svc", "localhost .svc", false},
      {"https://10.96.0.1:443", "10.0.0.0/8", false},
      {"https://10.96.0.1", "10.96.0.0/31", false},
      {"https://10.96.0.2", "10.96.0.0/31", true},
      {"https://10.96.0.1", "10.96.0.1", false},
      {"https://10.96.0.1", "10.96.0.10", true},
      {"https://10.96.0.1", "0.1", true},
      {"https://10.96.0.1", "10.0.0.0/x,10.0.0.0/200", true},
      {"https://api.example", "10.0.0.0/8", true},
      {"https://[fd00::17]:6443", "fd00::/8", false},
      {"https://[fd00::17]:6443", "[fd00::17]:6443", false},
      {"https://[fd00::17]:6443", "[fd00::17]:443", true},
      {"https://[fd00::17]", "fd00::17", false},
      {"https://[fd00::17]", "10.0.0.0/8", true},
      {"https://api.example:6443", "api.example:6443", false},
      {"https://api.example:6443", "api.example:443", true},
      {"https://api.example", "api.example:443", false},
      {"https://localhost:6443", "", false},
      {"https://127.0.0.1:6443", "", false},
      {"https://[::1]:6443", "", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.url, row.rules);
    const auto proxy = proxy_for(Url::parse(row.url).value(), of({{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", row.rules}}));
    CHECK(proxy.empty() != row.by_proxy);
  }
}

TEST_CASE("SSL_CERT_FILE names the certificate authorities, whether it is there or not") {
  CHECK(system_certificates(of({{"SSL_CERT_FILE", "/nowhere/ca.pem"}})) == "/nowhere/ca.pem");
}
