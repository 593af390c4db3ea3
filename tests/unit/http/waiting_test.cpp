// SPDX-License-Identifier: Apache-2.0
#include "http/waiting.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/fake_transport.h"

using namespace trainstep;
using namespace trainstep::http;
using namespace trainstep::test;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

// What is said of a server that answers as the test says, to whom everything is asked again a second after it failed.
struct Story {
  VirtualLoop loop;
  FakeTransport server{loop};
  Words told;
  Time began = loop.now();
  Waiting waiting{loop, [this](const std::string& text) { told.push_back(std::to_string((loop.now() - began).count() / 1000) + " s: " + text); }};
  std::optional<ObservedTransport> transport{std::in_place, server, std::vector<Observer*>{&waiting}};

  Request request(const std::string& url = "https://api:6443/x?signature=secret") {
    Request request;
    request.url = Url::parse(url).value();
    request.limit = 36s;
    return request;
  }
  void ask() {
    transport->start(request(), {.head = {}, .data = {}, .done = [this](const Result<Response>& response) {
                                   if (!response) loop.after(1s, [this] { ask(); });
                                 }});
  }
};

}  // namespace

TEST_CASE("a server that is silent is named after some seconds, and then rarely") {
  Story story;
  story.waiting.name("https://api:6443", "the API server");
  story.ask();
  story.loop.run(30min);
  REQUIRE(story.told.size() >= 5);
  CHECK(story.told[0] == "5 s: waiting for the API server https://api:6443: no answer for 5.0 s");
  CHECK(story.told[1] == "60 s: waiting for the API server https://api:6443: no answer in time");
  CHECK(story.told.size() <= 6);
}

TEST_CASE("a server that cannot be reached is named with the reason") {
  Story story;
  story.server.serve([](const FakeTransport::Asked&) { return Reply::lost(); });
  story.ask();
  story.loop.run(20s);
  CHECK(story.told == Words{"5 s: waiting for https://api:6443: the connection was cut"});
}

TEST_CASE("a server of which nothing is requested any more is not waited for, until something is again") {
  Story story;
  story.server.serve([](const FakeTransport::Asked&) { return Reply::lost(); });
  story.transport->start(story.request(), {.head = {}, .data = {}, .done = [](const Result<Response>&) {}});
  story.loop.run(1s);
  story.waiting.forget("https://api:6443");
  story.waiting.forget("https://never:1");
  story.loop.run(1min);
  CHECK(story.told.empty());
  story.ask();
  story.loop.run(20s);
  CHECK_FALSE(story.told.empty());
}

TEST_CASE("a server that responds is not reported, whatever its status, nor one without requests") {
  Story story;
  story.server.serve([&](const FakeTransport::Asked&) { return Reply{.status = 503, .delay = 3s}; });
  for (int i = 0; i < 10; ++i) story.loop.after(i * 2s, [&] { story.ask(); });
  story.loop.run(10min);
  CHECK(story.told.empty());

  story.server.serve({});
  const auto id = story.transport->start(story.request(), {});
  story.loop.after(1s, [&] { story.transport->cancel(id); });
  story.loop.run(10min);
  CHECK(story.told.empty());

  story.server.reply(Reply::lost());
  story.transport->start(story.request(), {.head = {}, .data = {}, .done = [](const Result<Response>&) {}});
  story.loop.run(4s);
  story.told.clear();
  story.loop.run(10min);
  CHECK(story.told.size() <= 1);  // whether somebody asks again is not known at once
}

TEST_CASE("a stream that has begun may be quiet, and large bodies take their time") {
  Story story;
  story.server.reply({.pieces = {}, .end = Reply::End::open});
  auto watch = story.request();
  watch.limit.reset();
  story.transport->start(watch, {.head = {}, .data = [](std::string_view) {}, .done = [](const Result<Response>&) {}});
  auto upload = story.request();
  upload.method = "PUT";
  upload.body = std::string(std::size_t{1} << 20U, 'x');
  story.server.reply({.delay = 30s});
  story.transport->start(upload, {.head = {}, .data = {}, .done = [](const Result<Response>&) {}});
  auto download = story.request();
  story.server.reply({.delay = 30s});
  story.transport->start(
      download, {.head = {}, .data = {}, .done = [](const Result<Response>&) {}, .sink = [](const Response&, std::string_view) { return true; }});
  story.loop.run(10min);
  CHECK(story.told.empty());
}

TEST_CASE("a request that hangs is reported while others complete") {
  Story story;
  story.ask();
  story.server.serve([](const FakeTransport::Asked&) { return Reply::text("ok"); });
  story.loop.after(2s, [&] { story.ask(); });
  story.loop.run(20s);
  CHECK(story.told.size() == 1);
}

TEST_CASE("an excluded server is left to another reporter") {
  Story story;
  story.ask();
  story.waiting.leave_out("https://api:6443");
  story.loop.run(10min);
  CHECK(story.told.empty());
}
