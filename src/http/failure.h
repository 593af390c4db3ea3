// Error messages for exchanges without a response; they contain no query, headers or keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "http/message.h"

namespace trainstep::http {

enum class Fault {
  name,             // the host name has no address
  proxy,            // the proxy cannot be resolved, or refuses
  connection,       // connection refused, no route
  connect_limit,    // no connection within Request::connect_limit
  silence,          // no data within Request::silence
  limit,            // no complete response within Request::limit
  cut,              // the connection was closed before the end of the response
  too_large,        // more than Request::body_limit
  untrusted,        // the server's certificate was rejected
  own_certificate,  // the client certificate cannot be used
  authorities,      // the trusted certificate authorities cannot be read
  tls,              // the handshake failed for another reason
  unwanted,         // Handler::sink returned false
  defect,           // an error of this program
  other,
};

// `detail`: the message of libcurl or the system; may be empty. It distinguishes a rejected client certificate from a closed connection: in TLS 1.3 a
// server rejects it only after the handshake.
Error failure(Fault fault, const Request& request, std::string detail);

// "host:6443": always with the port.
std::string place_of(const Url& url);

}  // namespace trainstep::http
