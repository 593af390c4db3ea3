// This machine's settings for connections: proxies and certificate authorities.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/url.h"

namespace trainstep::http {

// getenv(3), or a test's table. Empty values count as absent.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// The proxy for `url` by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY (lower case takes precedence, as in curl and Go); empty: none. NO_PROXY:
// "*", hosts, which include their subdomains, with or without a leading dot, addresses, CIDR ranges ("10.0.0.0/8"), each with or without a port.
// "localhost" and loopback addresses never use a proxy, as in Go. Implemented here and not by libcurl, because its rules differ between versions.
std::string proxy_for(const Url& url, const Environment& environment);

// The file of certificate authorities: SSL_CERT_FILE, otherwise the first existing one of those that distributions use. The release is static, so its
// The statically linked OpenSSL does not know the machine's certificate directory. nullopt: none found.
std::optional<std::string> system_certificates(const Environment& environment);

}  // namespace trainstep::http
