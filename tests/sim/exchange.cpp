// SPDX-License-Identifier: Apache-2.0
#include "sim/exchange.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace trainstep::sim {
namespace {

// Waiting is limited: the kernel finally drops a connection.
constexpr Duration kernel_timeout{930'000};

std::string http_date(Time time) {
  const auto seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const auto size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

}  // namespace

Network::Exchange::Exchange(Network& network, Id id, http::Request request, Handler handler)
    : m_network(network), m_id(id), m_request(std::move(request)), m_handler(std::move(handler)), m_heard(network.m_loop.now()) {}

std::string Network::Exchange::describe() const {
  auto text = m_request.method + " " + m_request.url.path;
  char separator = '?';
  for (const auto& [name, value] : m_request.url.query) {
    text += fmt::format("{}{}={}", separator, name, value);
    separator = '&';
  }
  return text;
}

void Network::Exchange::begin() {
  if (m_request.limit)
    m_network.m_loop.after(*m_request.limit,
                           [self = shared_from_this()] { self->fail(ErrorKind::timeout, "the request took longer than its limit"); });
  watch_silence();
}

void Network::Exchange::watch_silence() {
  const auto timeout = m_request.silence.value_or(kernel_timeout);
  m_network.m_loop.after(m_heard + timeout - m_network.m_loop.now(), [weak = weak_from_this(), timeout] {
    const auto self = weak.lock();
    if (self == nullptr || self->m_over) return;
    if (self->m_network.m_loop.now() - self->m_heard >= timeout)
      self->fail(ErrorKind::unavailable, "no byte came for too long");
    else
      self->watch_silence();
  });
}

// What is sent at one moment travels together.
Network::Exchange::Piece& Network::Exchange::piece() {
  const auto now = m_network.m_loop.now();
  if (!m_pieces.empty() && m_pieces.back().made == now) return m_pieces.back();
  const auto& [plural, slow] = m_network.m_slow_watch;
  auto due = now + lag + m_network.delay() + (is_stream() && m_request.url.path.ends_with(plural) ? slow : Duration{0});
  if (!m_pieces.empty()) due = std::max(due, m_pieces.back().due);
  m_pieces.push_back({.made = now, .due = due, .head = std::nullopt, .bytes = {}, .end = false, .broken = {}});
  m_network.m_loop.after(due - now, [self = shared_from_this()] { self->deliver(); });
  return m_pieces.back();
}

void Network::Exchange::open(int code, std::vector<http::Header> headers) {
  if (closed()) return;
  http::Response head;
  head.status = code;
  head.headers = std::move(headers);
  head.headers.push_back({"Date", http_date(m_network.m_loop.now())});
  piece().head = std::move(head);
}

void Network::Exchange::send(std::string_view bytes) {
  if (closed()) return;
  auto& to = piece();
  if (m_budget && bytes.size() >= *m_budget) {
    to.bytes += bytes.substr(0, *m_budget);
    // Cut in the middle of the header: nothing of the answer is to be seen.
    if (*m_budget == 0 && to.head) to.head.reset();
    to.broken = "the connection was reset";
    m_mute = true;
    return;
  }
  if (m_budget) *m_budget -= bytes.size();
  to.bytes += bytes;
  const bool repeats = asked(m_request, "watch") == "true" && (bytes.starts_with(R"({"type":"MOD)") || bytes.starts_with(R"({"type":"ADD)"));
  if (repeats && m_network.m_random.chance(m_network.m_faults.twice)) to.bytes += bytes;
}

void Network::Exchange::close() {
  if (closed()) return;
  piece().end = true;
  m_mute = true;
}

void Network::Exchange::break_off(Duration after, std::string why) {
  m_mute = true;
  m_network.m_loop.after(after, [self = shared_from_this(), why = std::move(why)] { self->fail(ErrorKind::unavailable, why); });
}

void Network::Exchange::deliver() {
  if (m_over) return;
  const auto self = shared_from_this();
  auto arrived = std::move(m_pieces.front());
  m_pieces.pop_front();
  m_heard = m_network.m_loop.now();
  if (arrived.head) {
    m_response = *arrived.head;
    if (m_handler.head) m_handler.head(m_response);
  }
  const auto half = !arrived.bytes.empty() && m_network.m_random.chance(m_network.m_faults.split)
                        ? static_cast<std::size_t>(m_network.m_random.between(std::int64_t{0}, static_cast<std::int64_t>(arrived.bytes.size())))
                        : arrived.bytes.size();
  give(std::string_view(arrived.bytes).substr(0, half));
  give(std::string_view(arrived.bytes).substr(half));
  if (!arrived.broken.empty()) return fail(ErrorKind::unavailable, arrived.broken);
  if (!arrived.end || m_over) return;
  m_over = true;
  m_network.finish(m_id);
  if (m_handler.done) m_handler.done(std::move(m_response));
}

void Network::Exchange::give(std::string_view bytes) {
  if (m_over || bytes.empty()) return;
  const bool streams = m_response.status / 100 == 2;
  if (m_handler.sink && streams) {
    if (!m_handler.sink(m_response, bytes)) fail(ErrorKind::internal, "the rest of the answer was not needed");
  } else if (m_handler.data && streams) {
    m_handler.data(bytes);
  } else {
    m_response.body += bytes;
  }
}

void Network::Exchange::fail(ErrorKind kind, std::string why) {
  if (m_over) return;
  const auto self = shared_from_this();
  m_over = true;
  m_network.finish(m_id);
  m_network.m_trace.log("network", "{}: {}", describe(), why);
  if (m_handler.done) m_handler.done(Error{kind, std::move(why)});
}

void Network::Exchange::cancel() {
  m_over = true;
  m_network.finish(m_id);
}

}  // namespace trainstep::sim
