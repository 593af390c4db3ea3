// SPDX-License-Identifier: Apache-2.0
#include "http/bulk_transport.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace trainstep::http {

// Shared by both threads; what `mutex` guards belongs to the worker until the call is closed.
struct BulkTransport::Call {
  Call(Worker& whose, Handler handler) : worker(whose), done(std::move(handler.done)), wants_bytes(handler.sink), sink(std::move(handler.sink)) {}

  Worker& worker;
  std::function<void(Result<Response>)> done;  // used only by home
  const bool wants_bytes;
  std::mutex mutex;
  bool open = true;
  decltype(Handler::sink) sink;

  bool take(const Response& head, std::string_view bytes) {
    const std::lock_guard lock(mutex);
    return open && sink(head, bytes);
  }
  void close() {
    const std::lock_guard lock(mutex);
    open = false;
    sink = nullptr;  // it refers to objects of home
  }
};

namespace {

constexpr std::size_t large_body = std::size_t{1} << 20;

bool is_large(const Request& request, const Transport::Handler& handler) {
  if (handler.head || handler.data) return false;  // these must be called from home
  return request.body.size() >= large_body || (handler.sink && request.buffer > Request().buffer);
}

}  // namespace

// A thread with its own loop and connections.
class BulkTransport::Worker {
 public:
  Worker() : m_thread(thread_without_signals([this] { run(); })) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    m_mailbox.put([this] { m_loop.stop(); });
    m_thread.join();
  }
  void start(Id id, Request request, const std::shared_ptr<Call>& call, std::function<void(Result<Response>)> done) {
    ++calls;
    m_mailbox.put([this, id, call, request = std::make_shared<Request>(std::move(request)), done = std::move(done)] {
      Handler handler{.head = {}, .data = {}, .done = [this, id, done](Result<Response> response) {
                        m_ids.erase(id);
                        done(std::move(response));
                      }};
      if (call->wants_bytes) handler.sink = [call](const Response& head, std::string_view bytes) { return call->take(head, bytes); };
      m_ids[id] = m_transport->start(std::move(*request), std::move(handler));
    });
  }
  void cancel(Id id) {
    m_mailbox.put([this, id] {
      const auto found = m_ids.extract(id);
      if (!found.empty()) m_transport->cancel(found.mapped());
    });
  }
  std::size_t calls = 0;  // in progress; used only by home

 private:
  void run() {
    m_transport.emplace(m_loop);
    m_mailbox.open();
    m_loop.run();
    m_mailbox.close();
    m_ids.clear();
    m_transport.reset();
  }

  PollLoop m_loop;
  Mailbox m_mailbox{m_loop};
  std::optional<CurlTransport> m_transport;
  std::map<Id, Id> m_ids;  // its transport's
  std::thread m_thread;
};

BulkTransport::BulkTransport(PollLoop& home, std::size_t threads) : m_home(home), m_threads(threads), m_transport(home), m_mailbox(home) {}

BulkTransport::~BulkTransport() {
  for (auto& [id, call] : m_calls) call->close();
}

Transport::Id BulkTransport::start(Request request, Handler handler) {
  if (is_large(request, handler)) return start_bulk(std::move(request), std::move(handler));
  return 2 * m_transport.start(std::move(request), std::move(handler));
}

Transport::Id BulkTransport::start_bulk(Request request, Handler handler) {
  const Id id = 2 * m_next++ + 1;
  m_rest.cancel();
  m_mailbox.open();
  if (m_workers.size() < m_threads) m_workers.push_back(std::make_unique<Worker>());
  auto& worker = **std::ranges::min_element(m_workers, {}, [](const auto& one) { return one->calls; });
  const auto call = std::make_shared<Call>(worker, std::move(handler));
  m_calls.emplace(id, call);
  worker.start(id, std::move(request), call, [this, id](Result<Response> response) {
    m_mailbox.put([this, id, response = std::move(response)]() mutable { done(id, std::move(response)); });
  });
  return id;
}

void BulkTransport::done(Id id, Result<Response> response) {
  auto found = m_calls.extract(id);
  if (found.empty()) return;  // cancelled
  const auto call = std::move(found.mapped());
  --call->worker.calls;
  call->close();
  rest();
  if (call->done) call->done(std::move(response));  // last: may destroy this object
}

void BulkTransport::cancel(Id id) {
  if (id % 2 == 0) return m_transport.cancel(id / 2);
  const auto found = m_calls.extract(id);
  if (found.empty()) return;
  found.mapped()->close();
  --found.mapped()->worker.calls;
  found.mapped()->worker.cancel(id);
  rest();
}

// Deferred: the next exchange may start at once.
void BulkTransport::rest() {
  if (!m_calls.empty()) return;
  m_rest = m_home.timer(Duration(0), [this] {
    m_workers.clear();
    m_mailbox.close();
  });
}

}  // namespace trainstep::http
