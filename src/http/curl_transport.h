// The Transport of real life: libcurl's multi interface, driven by the loop; no thread of its own (docs/adr/0006-one-thread-one-loop.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/poll_loop.h"
#include "http/transport.h"

namespace trainstep::http {

// HTTP/1.1, connections kept and used again for requests with an equal Endpoint; TLS 1.2 or newer; redirects are answers like others. A request on an
// open connection is on the wire when start() returns. From its making on, SIGPIPE is ignored in this process.
class CurlTransport : public Transport {
 public:
  // `loop` must outlive it. Open connections that nobody uses do not keep the loop running.
  explicit CurlTransport(PollLoop& loop);
  // What is under way is cancelled. May be called from a handler.
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
