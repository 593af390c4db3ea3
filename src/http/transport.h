// The seam to the network: start, cancel, completed. Implementations: CurlTransport (curl_transport.h); the simulator's; scripted ones in tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace trainstep::http {

class Transport {
 public:
  using Id = std::uint64_t;  // never 0, never used twice
  // All are called from the loop, never from within start() or cancel(). They may start and cancel other exchanges, and this one.
  struct Handler {
    std::function<void(const Response& head)> head;    // optional; status and headers are known, the body is not
    std::function<void(std::string_view bytes)> data;  // optional; the body of a 2xx answer as it comes, in pieces cut anywhere
    std::function<void(Result<Response> response)>
        done;  // once, and last. An answer of any status is a Response; errors: unavailable (no connection,
               // cut short, silence), timeout (Request::limit), denied (TLS: certificate), internal
    // Optional, instead of head and data: the body of a 2xx answer straight from the buffer it came into. It must not call the transport, nor destroy
    // it, and may be called by another thread than the loop's (BulkTransport). False: no more of it is wanted, done() tells of an error.
    std::function<bool(const Response& head, std::string_view bytes)> sink{};
  };
  virtual ~Transport() = default;
  // Sends at once where a connection is open.
  virtual Id start(Request request, Handler handler) = 0;
  // No callback of it comes any more; its connection is closed if the exchange was under way. An id that is done is ignored.
  virtual void cancel(Id id) = 0;
  // While it is held, no more of its body is read than what is on its way to the handler already, and no silence counts. A transport that has nothing
  // on a wire may let it come. An id that is done is ignored.
  virtual void hold(Id /*id*/, bool /*held*/) {}
};

}  // namespace trainstep::http
