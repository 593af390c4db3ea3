// Requests and responses, as values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "http/url.h"

namespace trainstep::http {

struct Header {
  std::string name;
  std::string value;
};

// Trust, client identity and proxy for a server: use the same object for all requests to one server, so that they share connections.
struct Endpoint {
  std::string ca_pem;           // empty: the system's certificates
  std::string certificate_pem;  // client certificate chain; empty: none
  std::string key_pem;          // its private key
  std::string server_name;      // expected in the certificate, and sent as SNI, instead of the host; empty: the host
  std::string proxy;            // "http://proxy:3128"; empty: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY
  bool direct = false;          // never use a proxy, whatever the environment says
  bool verify = true;           // false only if the user has explicitly requested it
};

struct Request {
  std::string method = "GET";
  Url url;
  std::vector<Header> headers;  // values may be secret: never logged
  std::string body;
  std::shared_ptr<const Endpoint> endpoint;  // null: the defaults
  Duration connect_limit{10'000};
  std::optional<Duration> limit;                    // for the whole exchange; unset for streams
  std::optional<Duration> silence;                  // the exchange fails (unavailable) if no byte arrives for this long
  std::size_t buffer = 16'384;                      // receive buffer in bytes, allocated for the whole exchange; increase it for large bodies
  std::size_t body_limit = std::size_t{64} << 20U;  // of a collected response body; more is an error (unavailable)
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;  // collected only if there is no Handler::data, or the status is not 2xx (then at most 64 KiB)

  // The first header with that name, case-insensitive; nullopt: absent.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

}  // namespace trainstep::http
