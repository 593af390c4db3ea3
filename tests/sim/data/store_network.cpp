// SPDX-License-Identifier: Apache-2.0
#include "sim/data/store_network.h"

#include <algorithm>
#include <array>
#include <utility>

#include "objectstore/answers.h"

namespace trainstep::sim::data {

struct StoreNetwork::Exchange {
  Id id;
  http::Request request;
  Handler handler;
  Time sent;
  int number;
  Fault fault;
  bool over = false;
  bool slow = false;
  http::Response response{};
  std::string body{};
  std::size_t most = std::string::npos;  // bytes of the body; after them the connection breaks
  Time heard{};
};

namespace {

std::string described(const http::Request& request) {
  auto text = request.method + ' ' + request.url.path;
  for (const auto& [name, value] : request.url.query) text += ' ' + name + '=' + value;
  for (const auto& header : request.headers)
    if (header.name == "Range") text += ' ' + header.value;
  return text;
}

// In the order of StoreNetwork::Fault.
constexpr std::array fault_names{"none",        "reset",  "reset after", "swallowed", "swallowed after", "slow down", "server error",
                                 "error after", "denied", "cut",         "truncated", "garbled",         "broken",    "damaged"};

// An upload whose damage the ETag reveals. Not .json objects: they are never fetched for comparison, so after a kill the damage would stay.
bool is_told_of(const http::Request& request) { return request.method == "PUT" && !request.body.empty() && !request.url.path.ends_with(".json"); }

// Identifies a request, whichever multipart upload it belongs to.
std::string same(const http::Request& request) {
  auto text = request.method + request.url.path;
  for (const auto& [name, value] : request.url.query)
    if (name != "uploadId") text += ' ' + name + '=' + value;
  for (const auto& header : request.headers)
    if (header.name == "Range") text += ' ' + header.value;
  return text;
}

}  // namespace

StoreNetwork::StoreNetwork(SimLoop& loop, ObjectStore& store, Trace& trace, Random random, Faults faults)
    : m_loop(loop), m_store(store), m_trace(trace), m_random(random), m_faults(std::move(faults)) {}

const Outage* StoreNetwork::outage() const {
  for (const auto& outage : m_faults.outages)
    if (m_loop.now() >= outage.from && m_loop.now() < outage.to) return &outage;
  return nullptr;
}

StoreNetwork::Fault StoreNetwork::draw(const http::Request& request) {
  if (m_faults.rate <= 0) return Fault::none;
  if (!m_random.chance(m_faults.rate)) return m_in_a_row.erase(same(request)), Fault::none;
  auto& in_a_row = m_in_a_row[same(request)];
  if (++in_a_row > m_faults.max_in_a_row) return in_a_row = 0, Fault::none;
  const auto fault = pick(request);
  // New credentials are requested only once. CompleteMultipartUpload may be silent for as long as a call is retried, so it is never swallowed.
  if (in_a_row > 1 && fault == Fault::denied) return Fault::slow_down;
  const bool ends_upload = request.method == "POST" && asks(request, "uploadId");
  if (ends_upload && (fault == Fault::swallowed || fault == Fault::swallowed_after)) return Fault::reset_after;
  return fault;
}

StoreNetwork::Fault StoreNetwork::pick(const http::Request& request) {
  using enum Fault;
  const bool reads = request.method == "GET";
  const bool object = reads && !asks(request, "list-type") && !asks(request, "uploads");
  // HTTP says where a body ends. If a proxy misstates that, it is detected only in listings and in objects that they describe (If-Match).
  const bool checked = !object || std::ranges::any_of(request.headers, [](const auto& header) { return header.name == "If-Match"; });
  if (m_faults.damages && (is_told_of(request) || object) && m_random.chance(0.3)) return damaged;
  if (reads && m_random.chance(0.3)) return m_faults.truncates && checked && m_random.chance(0.5) ? truncated : cut;
  if (request.method == "POST" && asks(request, "uploadId") && m_random.chance(0.5)) return m_random.pick({broken, reset_after, server_error});
  const auto fault =
      m_random.pick({reset, reset, reset_after, reset_after, swallowed, swallowed_after, slow_down, server_error, error_after, denied, garbled});
  // A login page cannot be told from a real response to DELETE or HEAD, which has no body, or from an object, which may contain anything.
  const bool told_apart = request.method != "DELETE" && request.method != "HEAD" && !object;
  return fault == garbled && !told_apart ? reset_after : fault;
}

http::Transport::Id StoreNetwork::start(http::Request request, Handler handler) {
  const auto id = m_next++;
  if (++m_calls; m_hook && !m_hook(m_calls, false)) return id;
  const auto fault = draw(request);
  const auto exchange = std::make_shared<Exchange>(Exchange{id, std::move(request), std::move(handler), m_loop.now(), m_calls, fault});
  m_exchanges.emplace(id, exchange);
  watch_silence(exchange);
  exchange->slow = m_random.chance(m_faults.slow);
  m_loop.after(exchange->slow ? m_random.between(Duration{1}, max_transfer_time) : delay(), [this, exchange] { arrive(exchange); });
  return id;
}

void StoreNetwork::cancel(Id id) {
  const auto found = m_exchanges.extract(id);
  if (!found.empty()) found.mapped()->over = true;
}

void StoreNetwork::kill() {
  m_hook = nullptr;
  for (const auto& [id, exchange] : std::exchange(m_exchanges, {})) exchange->over = true;
}

void StoreNetwork::watch_silence(const Shared& exchange) {
  exchange->heard = m_loop.now();
  if (!exchange->request.silence) return;
  m_loop.after(*exchange->request.silence, [this, exchange, since = exchange->heard] {
    if (exchange->heard == since) done(exchange, Error{ErrorKind::unavailable, "the server is silent"});
  });
}

void StoreNetwork::arrive(const Shared& exchange) {
  const auto& request = exchange->request;
  const auto* away = outage();
  const auto fault = away == nullptr                       ? exchange->fault
                     : away->sort == Outage::Sort::refused ? Fault::reset
                     : away->sort == Outage::Sort::silent  ? Fault::swallowed
                                                           : Fault::slow_down;
  if (m_trace.wanted())
    m_trace.log("store", "{}{}", described(request),
                fault == Fault::none ? std::string() : fmt::format("  [{}]", fault_names.at(static_cast<std::size_t>(fault))));
  switch (fault) {
    case Fault::reset:
      return fail(exchange, delay(), "the connection was reset");
    case Fault::swallowed:
      return;
    case Fault::slow_down:
      return answer(exchange, refusal(503, "SlowDown"));
    case Fault::server_error:
      return answer(exchange, refusal(asks(request, "uploadId") && request.method == "POST" ? 200 : 500, "InternalError"));
    case Fault::denied:
      return answer(exchange, refusal(403, "ExpiredToken"));
    case Fault::garbled:
      return answer(exchange, {200, {}, "<html>please log in</html>"});
    case Fault::broken:
      m_store.break_upload(asked(request, "uploadId"));
      return fail(exchange, delay(), "the connection was reset");
    default:
      break;
  }
  if (fault == Fault::damaged && is_told_of(request) && (m_store.tags_are_sums() || asks(request, "uploadId"))) damage(exchange->request.body);
  auto response = m_store.answer(request, exchange->sent, m_loop.now());
  if (fault == Fault::damaged && request.method == "GET" && response.status == 200 && !response.body.empty() &&
      !objectstore::md5_told(response).empty())
    damage(response.body);
  m_trace.log("store", "  {}", response.status);
  if (m_hook) m_hook(exchange->number, true);
  if (fault == Fault::reset_after) return fail(exchange, delay(), "the connection was reset");
  if (fault == Fault::swallowed_after) return;
  if (fault == Fault::error_after) return answer(exchange, refusal(500, "InternalError"));
  if (fault == Fault::cut) exchange->most = static_cast<std::size_t>(m_random.between(0, static_cast<std::int64_t>(response.body.size())));
  if (fault == Fault::truncated && response.status / 100 == 2 && !response.body.empty()) {
    ++m_truncated;
    response.body.resize(static_cast<std::size_t>(m_random.between(0, static_cast<std::int64_t>(response.body.size()) - 1)));
    std::erase_if(response.headers, [](const auto& header) { return header.name == "Content-Length"; });
  }
  answer(exchange, std::move(response));
}

void StoreNetwork::answer(const Shared& exchange, http::Response response) {
  exchange->body = std::exchange(response.body, {});
  exchange->response = std::move(response);
  m_loop.after(exchange->slow ? m_random.between(Duration{1}, Duration{10'000}) : delay(), [this, exchange] {
    if (exchange->over) return;
    watch_silence(exchange);
    if (exchange->handler.head) exchange->handler.head(exchange->response);
    give(exchange, 0);
  });
}

// Delivers the body in pieces, split anywhere.
void StoreNetwork::give(const Shared& exchange, std::size_t from) {
  if (exchange->over) return;
  if (from >= exchange->most) return done(exchange, Error{ErrorKind::unavailable, "the connection was cut"});
  if (from == exchange->body.size()) return done(exchange, std::move(exchange->response));
  const auto left = std::min(exchange->body.size(), exchange->most) - from;
  const auto size = m_random.chance(0.3) ? static_cast<std::size_t>(m_random.between(1, static_cast<std::int64_t>(left))) : left;
  const auto piece = std::string_view(exchange->body).substr(from, size);
  watch_silence(exchange);
  if (exchange->handler.sink && exchange->response.status / 100 == 2) {
    if (!exchange->handler.sink(exchange->response, piece)) return done(exchange, Error{ErrorKind::internal, "the sink aborted the exchange"});
  } else {
    exchange->response.body += piece;
  }
  m_loop.after(exchange->slow ? m_random.between(Duration{1}, Duration{20'000}) : Duration{1}, [=, this] { give(exchange, from + size); });
}

void StoreNetwork::fail(const Shared& exchange, Duration after, std::string why) {
  m_loop.after(after, [this, exchange, why = std::move(why)] { done(exchange, Error{ErrorKind::unavailable, why}); });
}

void StoreNetwork::done(const Shared& exchange, Result<http::Response> result) {
  if (std::exchange(exchange->over, true)) return;
  m_exchanges.erase(exchange->id);
  const auto call = std::move(exchange->handler.done);
  call(std::move(result));
}

}  // namespace trainstep::sim::data
