// The first hop of a request, and the host name that must be resolved for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "http/message.h"
#include "http/process_environment.h"

namespace trainstep::http {

struct Route {
  std::string proxy;  // in libcurl's syntax; empty: none
  std::string host;   // to connect to: the proxy's or the server's; without brackets
  int port = 0;
  bool numeric = false;  // `host` is an address
};

// SOCKS proxies resolve the server's name themselves, as in Go and Kubernetes' own clients.
Route route_of(const Url& url, const Endpoint& endpoint, const Environment& environment);

}  // namespace trainstep::http
