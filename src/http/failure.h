// Why an exchange has no answer, in words: without addresses' queries, headers, keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "http/message.h"

namespace trainstep::http {

enum class Fault {
  name,             // the host's name has no address
  proxy,            // the proxy is not found or does not let us through
  connection,       // nobody listens, no route
  connect_limit,    // no connection within Request::connect_limit
  silence,          // nothing came within Request::silence
  limit,            // no whole answer within Request::limit
  cut,              // the connection ended before the answer
  too_large,        // more than Request::body_limit
  untrusted,        // the server's certificate
  own_certificate,  // ours cannot be used
  authorities,      // those to trust cannot be read
  tls,              // the handshake failed for another reason
  unwanted,         // Handler::sink wants no more
  defect,           // ours
  other,
};

// `detail`: what the library or the system says; may be empty. It decides between untrusted and cut where a server refuses our certificate only after
// the handshake, as TLS 1.3 has it.
Error failure(Fault fault, const Request& request, std::string detail);

// "host:6443": the port is always said.
std::string place_of(const Url& url);

}  // namespace trainstep::http
