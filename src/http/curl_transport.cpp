// SPDX-License-Identifier: Apache-2.0
#include "http/curl_transport.h"

#include <curl/curl.h>

#include <chrono>
#include <csignal>
#include <map>
#include <utility>

#include "http/curl_exchange.h"
#include "http/resolver.h"

namespace trainstep::http {
namespace {

using Clock = std::chrono::steady_clock;

void initialize_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;  // if it fails, so does every curl_easy_init
  struct sigaction action{};
  // Writing to a connection closed by the server must be an error and not kill this process; libcurl leaves that to us (CURLOPT_NOSIGNAL).
  if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
}

Result<Response> result_of(Exchange& exchange) {
  if (exchange.error) return *exchange.error;
  return exchange.reader.take();
}

}  // namespace

// libcurl's callbacks only record what arrived. Handlers are called after libcurl has returned, because they may start and cancel exchanges, which it
// does not allow within its callbacks.
class CurlTransport::Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(PollLoop& loop);

  Id start(Request request, Handler handler);
  void cancel(Id id);
  void hold(Id id, bool held);
  // Nothing is called any more after it, even when called from a handler.
  void close();

 private:
  void kick(curl_socket_t socket, int ready);
  void drain(curl_socket_t socket, int ready);
  void resolve(Exchange& exchange);
  void resolved(Id id, const Result<Resolver::Addresses>& addresses);
  void begin(Exchange& exchange);
  void set_timers(Exchange& exchange);
  void look_for_silence(Exchange& exchange);
  void finish(Exchange& exchange, std::optional<Error> error = {});
  void release(Exchange& exchange);
  void deliver();

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* userdata, void* assigned);
  static int on_timer(CURLM* multi, long timeout_ms, void* userdata);

  PollLoop& m_loop;
  CURLM* m_multi;
  std::unique_ptr<Resolver> m_resolver;
  std::map<Id, std::shared_ptr<Exchange>> m_exchanges;
  Incoming m_incoming;
  Timer m_timer;
  Id m_next = 1;
  bool m_delivering = false;
};

CurlTransport::Engine::Engine(PollLoop& loop) : m_loop(loop), m_resolver(std::make_unique<Resolver>(loop)) {
  initialize_once();
  m_multi = curl_multi_init();
  curl_multi_setopt(m_multi, CURLMOPT_SOCKETFUNCTION, &on_socket);
  curl_multi_setopt(m_multi, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
  curl_multi_setopt(m_multi, CURLMOPT_TIMERFUNCTION, &on_timer);
  curl_multi_setopt(m_multi, CURLMOPT_TIMERDATA, static_cast<void*>(this));
}

void CurlTransport::Engine::close() {
  for (auto& [id, exchange] : m_exchanges) release(*exchange);
  m_exchanges.clear();
  m_incoming.events.clear();
  m_resolver.reset();
  curl_multi_cleanup(m_multi);
  m_timer.cancel();
}

Transport::Id CurlTransport::Engine::start(Request request, Handler handler) {
  const Id id = m_next++;
  const auto exchange = std::make_shared<Exchange>(id, std::move(request), std::move(handler), m_incoming);
  m_exchanges.emplace(id, exchange);
  exchange->route = route_of(exchange->request.url, endpoint_of(exchange->request), process_environment());
  set_timers(*exchange);
  const auto known = exchange->route.numeric ? Resolver::Addresses() : m_resolver->known(exchange->route.host);
  if (known) {
    exchange->addresses = *known;
    begin(*exchange);
  } else {
    resolve(*exchange);
  }
  m_loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->deliver();
  });
  return id;
}

void CurlTransport::Engine::resolve(Exchange& exchange) {
  exchange.resolving = m_loop.timer(exchange.request.connect_limit, [this, &exchange] {
    finish(exchange, failure(Fault::connect_limit, exchange.request, {}));
    deliver();
  });
  m_resolver->resolve(exchange.route.host, [weak = weak_from_this(), id = exchange.id](const Result<Resolver::Addresses>& addresses) {
    if (const auto self = weak.lock()) self->resolved(id, addresses);
  });
}

void CurlTransport::Engine::resolved(Id id, const Result<Resolver::Addresses>& addresses) {
  const auto found = m_exchanges.find(id);
  if (found == m_exchanges.end() || !found->second->resolving) return;  // cancelled or timed out
  auto& exchange = *found->second;
  exchange.resolving.cancel();
  if (addresses) {
    exchange.addresses = *addresses;
    begin(exchange);
  } else {
    auto reason = "cannot resolve host '" + exchange.route.host + "' (" + addresses.error().message + ')';
    finish(exchange, failure(exchange.route.proxy.empty() ? Fault::name : Fault::proxy, exchange.request, std::move(reason)));
  }
  deliver();
}

// Writes the request if the connection is open.
void CurlTransport::Engine::begin(Exchange& exchange) {
  const auto problem = open(exchange);
  if (problem != CURLE_OK || curl_multi_add_handle(m_multi, exchange.easy.get()) != CURLM_OK)
    return finish(exchange, error_of(exchange, problem != CURLE_OK ? problem : CURLE_FAILED_INIT));
  kick(CURL_SOCKET_TIMEOUT, 0);
}

void CurlTransport::Engine::cancel(Id id) {
  const auto found = m_exchanges.find(id);
  if (found == m_exchanges.end()) return;
  release(*found->second);
  m_exchanges.erase(found);  // deliver() keeps an exchange alive while its handler runs
}

// libcurl delivers what it has already read when the exchange resumes, from within curl_easy_pause().
void CurlTransport::Engine::hold(Id id, bool held) {
  const auto found = m_exchanges.find(id);
  if (found == m_exchanges.end() || std::exchange(found->second->held, held) == held || !found->second->easy) return;
  found->second->heard = Clock::now();
  curl_easy_pause(found->second->easy.get(), held ? CURLPAUSE_RECV : CURLPAUSE_CONT);
  if (held) return;
  m_loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->kick(CURL_SOCKET_TIMEOUT, 0);
    self->deliver();
  });
}

void CurlTransport::Engine::set_timers(Exchange& exchange) {
  if (exchange.request.silence) look_for_silence(exchange);
  if (!exchange.request.limit) return;
  exchange.limit = m_loop.timer(*exchange.request.limit, [this, &exchange] {
    finish(exchange, failure(Fault::limit, exchange.request, {}));
    deliver();
  });
}

// Checks at the start, then whenever the limit may have been reached, so that received bytes cost no timer. Sending also counts as activity.
void CurlTransport::Engine::look_for_silence(Exchange& exchange) {
  curl_off_t sent = 0;
  if (curl_easy_getinfo(exchange.easy.get(), CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK && sent > exchange.sent) {
    exchange.sent = sent;
    exchange.heard = Clock::now();
  }
  if (exchange.held) exchange.heard = Clock::now();
  const auto left = std::chrono::ceil<Duration>(exchange.heard + exchange.request.silence.value_or(Duration{}) - Clock::now());
  if (left.count() > 0) {
    exchange.silence = m_loop.timer(left, [this, &exchange] { look_for_silence(exchange); });
    return;
  }
  finish(exchange, failure(Fault::silence, exchange.request, {}));
  deliver();
}

// Lets libcurl act, and records finished exchanges.
void CurlTransport::Engine::kick(curl_socket_t socket, int ready) {
  int running = 0;
  curl_multi_socket_action(m_multi, socket, ready, &running);
  int left = 0;
  while (const auto* message = curl_multi_info_read(m_multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode code = message->data.result;
    void* user = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
    auto& exchange = *static_cast<Exchange*>(user);
    if (code == CURLE_OK && !exchange.reader.complete()) code = CURLE_PARTIAL_FILE;
    finish(exchange, code == CURLE_OK ? std::nullopt : std::optional(error_of(exchange, code)));
  }
}

// Repeats while data arrives without events to deliver: libcurl reads one TLS record at a time, and a turn of the loop costs more than that.
void CurlTransport::Engine::drain(curl_socket_t socket, int ready) {
  constexpr int turns = 64;  // then other sockets get their turn
  std::uint64_t before = 0;
  for (int turn = 0; turn == 0 || (turn < turns && m_incoming.pieces != before && m_incoming.events.empty()); ++turn) {
    before = m_incoming.pieces;
    kick(socket, ready);
  }
}

void CurlTransport::Engine::finish(Exchange& exchange, std::optional<Error> error) {
  exchange.error = std::move(error);
  release(exchange);
  m_incoming.events.push_back({exchange.id, Event::What::done, {}});
}

void CurlTransport::Engine::release(Exchange& exchange) {
  for (auto* timer : {&exchange.resolving, &exchange.limit, &exchange.silence}) timer->cancel();
  if (exchange.easy) curl_multi_remove_handle(m_multi, exchange.easy.get());
  exchange.easy.reset();
}

void CurlTransport::Engine::deliver() {
  if (m_delivering) return;
  const auto self = shared_from_this();  // a handler may destroy the transport
  m_delivering = true;
  while (!m_incoming.events.empty()) {
    const auto event = std::move(m_incoming.events.front());
    m_incoming.events.pop_front();
    const auto found = m_exchanges.find(event.id);
    if (found == m_exchanges.end()) continue;  // cancelled
    const auto exchange = found->second;
    switch (event.what) {
      case Event::What::head:
        exchange->handler.head(exchange->reader.head());
        break;
      case Event::What::data:
        exchange->handler.data(event.bytes);
        break;
      case Event::What::done:
        m_exchanges.erase(found);
        if (exchange->handler.done) exchange->handler.done(result_of(*exchange));
        break;
    }
  }
  m_delivering = false;
}

int CurlTransport::Engine::on_socket(CURL*, curl_socket_t socket, int what, void* userdata, void*) {
  auto& engine = *static_cast<Engine*>(userdata);
  if (what == CURL_POLL_REMOVE) {
    engine.m_loop.forget(socket);
    return 0;
  }
  const PollLoop::Ready interest{.readable = (what & CURL_POLL_IN) != 0, .writable = (what & CURL_POLL_OUT) != 0};
  engine.m_loop.watch(socket, interest, [&engine, socket](PollLoop::Ready ready) {
    engine.drain(socket, (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0));
    engine.deliver();
  });
  return 0;
}

int CurlTransport::Engine::on_timer(CURLM*, long timeout_ms, void* userdata) {
  auto& engine = *static_cast<Engine*>(userdata);
  engine.m_timer.cancel();
  if (timeout_ms < 0) return 0;
  engine.m_timer = engine.m_loop.timer(Duration(timeout_ms), [&engine] {
    engine.kick(CURL_SOCKET_TIMEOUT, 0);
    engine.deliver();
  });
  return 0;
}

CurlTransport::CurlTransport(PollLoop& loop) : m_engine(std::make_shared<Engine>(loop)) {}

CurlTransport::~CurlTransport() { m_engine->close(); }

Transport::Id CurlTransport::start(Request request, Handler handler) { return m_engine->start(std::move(request), std::move(handler)); }

void CurlTransport::cancel(Id id) { m_engine->cancel(id); }

void CurlTransport::hold(Id id, bool held) { m_engine->hold(id, held); }

}  // namespace trainstep::http
