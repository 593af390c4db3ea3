// What this machine says about the way to a server: its proxies and its certificate authorities.
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

// The proxy for `url` by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY (lower case wins, as in curl and Go); empty: none. NO_PROXY: "*", hosts,
// which stand for the domains below them too, with or without a leading dot, addresses, address ranges ("10.0.0.0/8"), each with a port or without.
// "localhost" and addresses of this machine never go by a proxy, as in Go. Done here and not by libcurl, because its rules differ between versions.
std::string proxy_for(const Url& url, const Environment& environment);

// The file of certificate authorities: SSL_CERT_FILE, else the first one there of those that distributions use. The release is static: nobody has
// told its OpenSSL where the machine it runs on keeps them. None: there is none.
std::optional<std::string> system_certificates(const Environment& environment);

}  // namespace trainstep::http
