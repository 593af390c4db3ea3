// The interface to the network: start, cancel, completion callbacks. Implementations: CurlTransport (curl_transport.h); the simulator's; scripted
// ones in tests.
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
  using Id = std::uint64_t;  // never 0, never reused
  // All are called from the loop, never from within start() or cancel(). They may start and cancel other exchanges, and this one.
  struct Handler {
    std::function<void(const Response& head)> head;    // optional; called when status and headers are known, before the body
    std::function<void(std::string_view bytes)> data;  // optional; the body of a 2xx response as it arrives, split anywhere
    std::function<void(Result<Response> response)>
        done;  // called once, last. A response with any status is a Response; errors: unavailable (no connection,
               // cut short, silence), timeout (Request::limit), denied (TLS: certificate), internal
    // Optional, instead of head and data: the body of a 2xx response directly from the receive buffer. It must not call or destroy the transport, and
    // may be called on another thread than the loop's (BulkTransport). Returning false aborts the exchange, and done() gets an error.
    std::function<bool(const Response& head, std::string_view bytes)> sink{};
  };
  virtual ~Transport() = default;
  // Sends immediately if a connection is open.
  virtual Id start(Request request, Handler handler) = 0;
  // No callbacks are called any more; the connection is closed if the exchange was in progress. A finished id is ignored.
  virtual void cancel(Id id) = 0;
  // While held, no more of the body is read than what is already on its way to the handler, and `silence` is not counted. A transport without a wire
  // may keep delivering. A finished id is ignored.
  virtual void hold(Id /*id*/, bool /*held*/) {}
};

}  // namespace trainstep::http
