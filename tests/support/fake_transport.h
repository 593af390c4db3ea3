// A Transport that follows a script: what is asked is recorded, what is answered comes in pieces at virtual times.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/transport.h"
#include "support/virtual_loop.h"

namespace trainstep::test {

struct Piece {
  Duration after{0};  // after the one before, or the head
  std::string bytes;
};

struct Reply {
  enum class End { whole, cut, open };  // open: nothing more comes, until the asker cancels, or its silence or limit has passed
  int status = 200;                     // 0: no answer, End counts after `delay`
  std::vector<http::Header> headers{};
  std::vector<Piece> pieces{};
  End end = End::whole;
  Duration delay{1};      // before the head
  Duration end_after{0};  // after the last piece

  static Reply text(std::string body, int code = 200) { return {.status = code, .pieces = {{Duration(0), std::move(body)}}}; }
  static Reply lost() { return {.status = 0, .end = End::cut}; }
  static Reply silent() { return {.status = 0, .end = End::open}; }
};

class FakeTransport : public http::Transport {
 public:
  struct Asked {
    Time at;
    http::Request request;
    bool cancelled = false;
    [[nodiscard]] std::string header(std::string_view name) const {
      for (const auto& [key, value] : request.headers)
        if (key == name) return value;
      return "";
    }
    [[nodiscard]] std::string query(std::string_view name) const {
      for (const auto& [key, value] : request.url.query)
        if (key == name) return value;
      return "";
    }
    // "GET /api/v1/pods limit=50&…"
    [[nodiscard]] std::string line() const {
      std::string result = request.method + " " + request.url.path;
      char separator = ' ';
      for (const auto& [key, value] : request.url.query) {
        result += std::exchange(separator, '&') + key + "=" + value;
      }
      return result;
    }
  };
  using Server = std::function<Reply(const Asked&)>;

  explicit FakeTransport(VirtualLoop& loop) : m_loop(loop) {}
  // One answer for each request, in order; after the last, the server is asked, and without one nothing answers.
  void reply(Reply reply) { m_replies.push_back(std::move(reply)); }
  void serve(Server server) { m_server = std::move(server); }
  [[nodiscard]] const std::vector<Asked>& asked() const { return m_asked; }
  [[nodiscard]] std::size_t open() const { return m_open.size(); }

  Id start(http::Request request, Handler handler) override {
    m_asked.push_back({m_loop.now(), std::move(request)});
    const auto id = m_asked.size();
    auto exchange = std::make_shared<Exchange>();
    exchange->reply = next();
    exchange->handler = std::move(handler);
    m_open[id] = exchange;
    if (const auto limit = m_asked.back().request.limit)
      exchange->limit = m_loop.timer(*limit, [this, id] { done(id, Error{ErrorKind::timeout, "no answer in time"}); });
    watch_silence(id);
    exchange->step = m_loop.timer(exchange->reply.delay, [this, id] { head(id); });
    return id;
  }

  void cancel(Id id) override {
    const auto found = m_open.extract(id);
    if (found.empty()) return;
    m_asked.at(id - 1).cancelled = true;
    drop_timers(*found.mapped());
  }

  // Its body does not go on, and no silence counts.
  void hold(Id id, bool held) override {
    const auto found = m_open.find(id);
    if (found == m_open.end() || std::exchange(found->second->held, held) == held) return;
    auto& exchange = *found->second;
    exchange.silence.cancel();
    if (held) return;
    watch_silence(id);
    if (exchange.stopped) exchange.step = m_loop.timer(Duration(0), [this, id] { piece(id); });
    exchange.stopped = false;
  }

 private:
  struct Exchange {
    Reply reply;
    Handler handler;
    http::Response response;
    std::size_t next = 0;
    bool held = false;
    bool stopped = false;  // by being held, before its next piece
    Timer step;
    Timer limit;
    Timer silence;
  };

  Reply next() {
    if (!m_replies.empty()) {
      auto result = std::move(m_replies.front());
      m_replies.pop_front();
      return result;
    }
    return m_server ? m_server(m_asked.back()) : Reply::silent();
  }

  static void drop_timers(Exchange& exchange) {
    for (auto* timer : {&exchange.step, &exchange.limit, &exchange.silence}) timer->cancel();
  }

  void watch_silence(Id id) {
    auto& exchange = *m_open.at(id);
    exchange.silence.cancel();
    if (const auto silence = m_asked.at(id - 1).request.silence)
      exchange.silence = m_loop.timer(*silence, [this, id] { done(id, Error{ErrorKind::unavailable, "the server is silent"}); });
  }

  void done(Id id, Result<http::Response> response) {
    const auto exchange = m_open.extract(id).mapped();
    drop_timers(*exchange);
    exchange->handler.done(std::move(response));
  }

  void head(Id id) {
    const auto exchange = m_open.at(id);  // held: a handler may cancel
    if (exchange->reply.status == 0) return end(id);
    exchange->response.status = exchange->reply.status;
    exchange->response.headers = exchange->reply.headers;
    watch_silence(id);
    if (exchange->handler.head) exchange->handler.head(exchange->response);
    next_step(id);
  }

  void next_step(Id id) {
    const auto found = m_open.find(id);
    if (found == m_open.end()) return;
    auto& exchange = *found->second;
    if (exchange.next == exchange.reply.pieces.size())
      exchange.step = m_loop.timer(exchange.reply.end_after, [this, id] { end(id); });
    else
      exchange.step = m_loop.timer(exchange.reply.pieces[exchange.next].after, [this, id] { piece(id); });
  }

  void piece(Id id) {
    const auto exchange = m_open.at(id);
    if (exchange->held) {
      exchange->stopped = true;
      return;
    }
    const auto& bytes = exchange->reply.pieces[exchange->next++].bytes;
    watch_silence(id);
    if ((exchange->handler.data || exchange->handler.sink) && exchange->reply.status / 100 == 2) {
      const std::vector<char> exact(bytes.begin(), bytes.end());  // so that ASan detects reads beyond the end
      const std::string_view piece(exact.data(), exact.size());
      if (exchange->handler.data) exchange->handler.data(piece);
      if (exchange->handler.sink && !exchange->handler.sink(exchange->response, piece))
        return done(id, Error{ErrorKind::internal, "the rest of the answer was not needed"});
    } else {
      exchange->response.body += bytes;
    }
    next_step(id);
  }

  void end(Id id) {
    const auto exchange = m_open.at(id);
    if (exchange->reply.end == Reply::End::open) return;
    if (exchange->reply.end == Reply::End::cut) return done(id, Error{ErrorKind::unavailable, "the connection was cut"});
    done(id, std::move(exchange->response));
  }

  VirtualLoop& m_loop;
  std::deque<Reply> m_replies;
  Server m_server;
  std::vector<Asked> m_asked;
  std::map<Id, std::shared_ptr<Exchange>> m_open;
};

}  // namespace trainstep::test
