// A transport that transfers large bodies on several threads: encrypting or decrypting and copying a gigabyte keeps one core busy, and a pod has more
// (docs/adr/0010-threads-for-large-bodies.md, docs/adr/0016-threads-for-uploads.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/mailbox.h"
#include "http/curl_transport.h"

namespace trainstep::http {

// An exchange runs on a worker thread with its own loop if its request has a body of at least a megabyte, or has a sink and asks for a larger buffer
// than the default, and if its handler has neither `head` nor `data`. Its sink is called on that thread: never concurrently for one exchange, only
// before done(), and never after cancel() has returned; sinks of different exchanges run concurrently. Everything else is as with CurlTransport, and
// done() is called from `home`. Worker threads exist only while such exchanges are in progress: none after the last done().
class BulkTransport : public Transport {
 public:
  // `home` must outlive this object.
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
  Id m_next = 0;  // of exchanges on workers, whose ids are odd; all others are even
  Timer m_rest;
};

}  // namespace trainstep::http
