// The Transport on a real network: libcurl's multi interface, driven by the loop; no threads of its own (docs/adr/0006-one-thread-one-loop.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/poll_loop.h"
#include "http/transport.h"

namespace trainstep::http {

// HTTP/1.1; connections are kept and reused for requests with an equal Endpoint; TLS 1.2 or newer; redirects are not followed. A request on an open
// connection is on the wire when start() returns. Constructing one makes this process ignore SIGPIPE.
class CurlTransport : public Transport {
 public:
  // `loop` must outlive this object. Idle connections do not keep the loop running.
  explicit CurlTransport(PollLoop& loop);
  // Cancels exchanges in progress. May be called from a handler.
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Id start(Request request, Handler handler) override;
  void cancel(Id id) override;
  void hold(Id id, bool held) override;

 private:
  class Engine;
  std::shared_ptr<Engine> m_engine;
};

}  // namespace trainstep::http
