// A client of the tests' own: just enough to ask the simulated server something and see what comes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/network.h"

namespace trainstep::sim {

// What came back, as far as it has come.
struct Heard {
  std::optional<int> code;
  std::string text;  // of a stream so far, or the body
  bool done = false;
  std::optional<Error> error;
  [[nodiscard]] Json json() const { return Json::parse(text); }
  // Watch events: "ADDED x", "ERROR 410".
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> result;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const auto event = Json::parse(text.substr(at, end - at));
      const auto& object = event.at("object");
      const auto error_code = number_at(object, {"code"});
      result.push_back(event.at("type").get<std::string>() + " " +
                       (error_code != 0 ? std::to_string(error_code) : std::string(text_at(object, {"metadata", "name"}))));
    }
    return result;
  }
};

class SmallClient {
 public:
  explicit SmallClient(http::Transport& transport) : m_transport(transport) {}

  std::shared_ptr<Heard> ask(std::string method, const std::string& address, const Json& body = nullptr, std::vector<http::Header> headers = {}) {
    http::Request request;
    request.method = std::move(method);
    const auto query = std::min(address.find('?'), address.size());
    request.url.path = address.substr(0, query);
    for (auto at = query; at < address.size();) {
      const auto end = std::min(address.find('&', at + 1), address.size());
      const auto pair = address.substr(at + 1, end - at - 1);
      const auto equals = pair.find('=');
      request.url.query.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
      at = end;
    }
    request.headers = std::move(headers);
    if (request.method == "PATCH" && request.headers.empty()) request.headers.push_back({"Content-Type", "application/merge-patch+json"});
    if (!body.is_null()) request.body = body.dump();
    request.limit = limit;
    request.silence = silence;
    auto heard = std::make_shared<Heard>();
    http::Transport::Handler handler;
    handler.head = [heard](const http::Response& head) { heard->code = head.status; };
    handler.data = [heard](std::string_view bytes) { heard->text += bytes; };
    handler.done = [heard](Result<http::Response> response) {
      heard->done = true;
      if (!response)
        heard->error = response.error();
      else if (response->status / 100 != 2)
        heard->text = response->body;
    };
    last = m_transport.start(std::move(request), std::move(handler));
    return heard;
  }

  std::optional<Duration> limit, silence;
  http::Transport::Id last = 0;

 private:
  http::Transport& m_transport;
};

}  // namespace trainstep::sim
