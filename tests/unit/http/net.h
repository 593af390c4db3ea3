// A transport and what its exchanges told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/curl_transport.h"
#include "support/scripted_server.h"

namespace trainstep::test {

struct Net {
  PollLoop loop;
  std::optional<http::CurlTransport> transport{std::in_place, loop};

  // Runs the loop until `happened`, which is asked after everything that wakes it. The limit only matters when the test fails.
  void run_until(const std::function<bool()>& happened) {
    bool late = false;
    const auto limit = loop.timer(Duration{20'000}, [&] {
      late = true;
      loop.stop();
    });
    std::function<void()> look = [&] {
      if (happened())
        loop.stop();
      else
        loop.after(Duration{1}, look);
    };
    loop.post(look);
    loop.run();
    REQUIRE_FALSE(late);
  }

  Result<http::Response> ask(http::Request request) {
    std::optional<Result<http::Response>> got;
    transport->start(std::move(request), {.head = {}, .data = {}, .done = [&](auto result) { got = std::move(result); }});
    run_until([&] { return got.has_value(); });
    return *got;
  }
};

// What one exchange told, in order: "200 [abc] done", "200 [a] unavailable".
struct Story {
  std::string text;
  std::string body;
  std::string message;
  bool done = false;
  http::Transport::Handler handler() {
    return {.head = [this](const http::Response& head) { text += std::to_string(head.status) + ' '; },
            .data =
                [this](std::string_view bytes) {
                  if (body.empty()) text += "data ";
                  body += bytes;
                },
            .done =
                [this](Result<http::Response> result) {
                  done = true;
                  text += result ? "done" : result.error().kind == ErrorKind::unavailable ? "unavailable" : "other";
                  if (result)
                    message = result->body;
                  else
                    message = result.error().message;
                }};
  }
};

inline http::Request get(const std::string& url) {
  http::Request request;
  request.url = http::Url::parse(url).value();
  return request;
}

inline std::string answer(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace trainstep::test
