// One request and its answer on their way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/network.h"

namespace trainstep::sim {

class Network::Exchange : public Wire, public std::enable_shared_from_this<Network::Exchange> {
 public:
  Exchange(Network& network, Id id, http::Request request, Handler handler);

  // --- the server's end ---
  void open(int code, std::vector<http::Header> headers) override;
  void send(std::string_view bytes) override;
  void close() override;
  [[nodiscard]] bool closed() const override { return m_over || m_mute; }

  // --- the network's ---
  void begin();                                // the client's clocks
  void cancel();                               // nothing calls back any more
  void fail(ErrorKind kind, std::string why);  // now, from a task
  void break_off(Duration after, std::string why);
  void mute() { m_mute = true; }  // what the server sends from now on is lost
  void cut_after(std::size_t bytes) { m_budget = bytes; }
  [[nodiscard]] const http::Request& request() const { return m_request; }
  [[nodiscard]] bool is_stream() const { return asked(m_request, "watch") == "true" || asked(m_request, "follow") == "true"; }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] Id id() const { return m_id; }
  bool death_follows = false;  // the step dies when this has reached the server
  int life = 0;                // of the step that sent it
  Duration lag{0};             // of the server that answers it

 private:
  struct Piece {
    Time made;
    Time due;
    std::optional<http::Response> head;
    std::string bytes;
    bool end = false;
    std::string broken;  // the connection ends with this
  };
  Piece& piece();
  void deliver();
  void give(std::string_view bytes);
  void watch_silence();
  template <typename Callback, typename... Arguments>
  void tell(const Callback& callback, Arguments&&... arguments);

  Network& m_network;
  Id m_id;
  http::Request m_request;
  Handler m_handler;
  http::Response m_response;
  std::deque<Piece> m_pieces;
  std::optional<std::size_t> m_budget;
  Time m_heard;
  bool m_over = false;  // done() was called, or cancelled
  bool m_mute = false;
};

}  // namespace trainstep::sim
