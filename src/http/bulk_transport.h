// A transport that moves large bodies with several threads: encrypting or decrypting and copying a gigabyte keeps a core busy, and a pod has more of
// them (docs/adr/0010-threads-for-large-bodies.md, docs/adr/0016-threads-for-uploads.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/mailbox.h"
#include "http/curl_transport.h"

namespace trainstep::http {

// An exchange whose request has a body of a megabyte or more, or asks for a larger buffer than usual and has a sink, is driven by a thread of its own
// loop, unless its handler wants the head or the data as they come. Its sink is called there: never twice at once for one exchange, before done(),
// and not any more when cancel() has returned; sinks of several exchanges run at the same time. All else is as with CurlTransport, and done() comes
// from `home`. The threads live as long as such exchanges are under way: none when the last is done().
class BulkTransport : public Transport {
 public:
  // `home` must outlive it.
  explicit BulkTransport(PollLoop& home, std::size_t threads = 2);
  BulkTransport(const BulkTransport&) = delete;
  BulkTransport& operator=(const BulkTransport&) = delete;
  ~BulkTransport() override;

  Id start(Request request, Handler handler) override;
  void cancel(Id id) override;

 private:
  struct Call;
  class Worker;
  Id start_bulk(Request request, Handler handler);
  void done(Id id, Result<Response> response);
  void rest();

  PollLoop& m_home;
  std::size_t m_threads;
  CurlTransport m_transport;
  Mailbox m_mailbox;
  std::vector<std::unique_ptr<Worker>> m_workers;
  std::map<Id, std::shared_ptr<Call>> m_calls;
  Id m_next = 0;  // of those that are a worker's: odd ids; the others' are even
  Loop::TimerId m_rest = 0;
};

}  // namespace trainstep::http
