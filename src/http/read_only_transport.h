// A transport that cannot change anything on a server: for commands that only read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "base/loop.h"
#include "http/transport.h"

namespace trainstep::http {

// Passes on GET; a request with any other method is never sent, and ends with an error (internal).
class ReadOnlyTransport : public Transport {
 public:
  // Both must outlive this object.
  ReadOnlyTransport(Loop& loop, Transport& beneath) : m_loop(loop), m_beneath(beneath) {}
  ReadOnlyTransport(const ReadOnlyTransport&) = delete;
  ReadOnlyTransport& operator=(const ReadOnlyTransport&) = delete;
  Id start(Request request, Handler handler) override;
  void cancel(Id id) override;
  void hold(Id id, bool held) override { m_beneath.hold(id, held); }

 private:
  Loop& m_loop;
  Transport& m_beneath;
  std::map<Id, Timer> m_refused;
  Id m_next = 1;
};

}  // namespace trainstep::http
