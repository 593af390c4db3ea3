// SPDX-License-Identifier: Apache-2.0
#include "http/bulk_transport.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "net.h"

using namespace trainstep;
using namespace trainstep::http;
using namespace trainstep::test;

namespace {

// The server is on the home loop, as the callbacks are.
struct Bulk : Net {
  BulkTransport bulk{loop};
  const std::thread::id home = std::this_thread::get_id();

  struct Taken {
    std::string bytes;
    std::thread::id by;
    std::optional<Result<Response>> result;
  };
  Transport::Id take(const std::string& url, Taken& taken, std::size_t buffer = 65'536, bool wanted = true) {
    auto request = get(url);
    request.buffer = buffer;
    Transport::Handler handler;
    handler.sink = [&taken, wanted](const Response& head, std::string_view bytes) {
      if (head.status != 200) std::abort();
      taken.by = std::this_thread::get_id();
      taken.bytes += bytes;
      return wanted;
    };
    handler.done = [this, &taken](Result<Response> result) {
      CHECK(std::this_thread::get_id() == home);
      taken.result = std::move(result);
    };
    return bulk.start(std::move(request), std::move(handler));
  }
};

std::string body_of(const std::string& request) { return std::string(200'000, request.at(5)) + "!"; }

std::ptrdiff_t threads() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }

void serve(Connection& connection, const std::string& request) { connection.send(answer(body_of(request))); }

}  // namespace

TEST_CASE_METHOD(Bulk, "large bodies are received by other threads, complete and in order, and reported on the loop") {
  ScriptedServer server(loop, serve);
  std::map<std::string, Taken> all;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) take(server.origin() + "/" + name, all[name]);
  run_until([&] { return std::ranges::all_of(all, [](const auto& one) { return one.second.result.has_value(); }); });
  std::set<std::thread::id> threads;
  for (const auto& [name, taken] : all) {
    REQUIRE(*taken.result);
    CHECK((*taken.result)->status == 200);
    CHECK(taken.bytes == body_of("GET /" + name));
    threads.insert(taken.by);
  }
  CHECK(threads.size() == 2);
  CHECK_FALSE(threads.contains(home));
}

TEST_CASE_METHOD(Bulk, "bodies without a large buffer stay on the loop, and no id is used twice") {
  ScriptedServer server(loop, serve);
  Taken small;
  Taken large;
  const auto one = take(server.origin() + "/s", small, Request().buffer);
  const auto other = take(server.origin() + "/l", large);
  CHECK(one != 0);
  CHECK(other != 0);
  CHECK(one != other);
  run_until([&] { return small.result && large.result; });
  CHECK(small.by == home);
  CHECK(large.by != home);
  CHECK(small.bytes == body_of("GET /s"));
}

TEST_CASE_METHOD(Bulk, "large bodies are sent by other threads, complete; the response is reported on the loop") {
  std::map<std::string, std::size_t> came;  // path → bytes
  ScriptedServer server(loop, [&](Connection& connection, const std::string& request) {
    came[request.substr(4, 2)] = request.size() - request.find("\r\n\r\n") - 4;
    connection.send(answer("heard"));
  });
  std::vector<Result<Response>> answers;
  const auto before = threads();
  for (const auto& [path, size] : std::map<std::string, std::size_t>{{"/a", 3'000'000}, {"/b", 1 << 20}, {"/c", 10}}) {
    auto request = get(server.origin() + path);
    request.method = "PUT";
    request.body = std::string(size, 'x');
    Transport::Handler handler;
    handler.done = [&](auto response) {
      CHECK(std::this_thread::get_id() == home);
      answers.push_back(std::move(response));
    };
    bulk.start(std::move(request), std::move(handler));
  }
  CHECK(threads() == before + 2);
  run_until([&] { return answers.size() == 3; });
  for (const auto& response : answers) {
    REQUIRE(response);
    CHECK(response->body == "heard");
  }
  CHECK(came == std::map<std::string, std::size_t>{{"/a", 3'000'000}, {"/b", 1 << 20}, {"/c", 10}});
}

TEST_CASE_METHOD(Bulk, "nothing keeps the loop running once everything is reported, and more may follow later") {
  for (int i = 0; i < 2; ++i) {
    Taken taken;
    {
      ScriptedServer server(loop, serve);
      take(server.origin() + "/a", taken);
      run_until([&] { return taken.result.has_value(); });
    }
    loop.run();  // else it would not return
    CHECK(taken.bytes == body_of("GET /a"));
  }
}

TEST_CASE_METHOD(Bulk, "after cancel() nothing is received or reported any more") {
  ScriptedServer server(loop, [](Connection& connection, const std::string&) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + std::string(10'000'000, 'x'));
  });
  Taken taken;
  const auto id = take(server.origin() + "/a", taken);
  run_until([&] { return !server.connections.empty() && server.connections.at(0)->requests.size() == 1; });
  bulk.cancel(id);
  const auto size = taken.bytes.size();
  bulk.cancel(id);
  run_until([&] { return server.connections.at(0)->ended; });
  CHECK(taken.bytes.size() == size);
  CHECK_FALSE(taken.result);
}

TEST_CASE_METHOD(Bulk, "an error is reported on the loop: an unwanted body, a truncated body, a refused connection") {
  ScriptedServer server(loop, [](Connection& connection, const std::string& request) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012");
    if (request.starts_with("GET /cut")) connection.close();
  });
  Taken unwanted;
  Taken cut;
  Taken nobody;
  take(server.origin() + "/unwanted", unwanted, 65'536, false);
  take(server.origin() + "/cut", cut);
  take("http://127.0.0.1:1/", nobody);
  run_until([&] { return unwanted.result && cut.result && nobody.result; });
  CHECK_FALSE(*unwanted.result);
  REQUIRE_FALSE(*cut.result);
  CHECK(cut.result->error().kind == ErrorKind::unavailable);
  REQUIRE_FALSE(*nobody.result);
  CHECK(nobody.result->error().kind == ErrorKind::unavailable);
}

TEST_CASE("a transport destroyed while bodies are received calls no handler") {
  Net net;
  ScriptedServer server(net.loop, [](Connection& connection, const std::string&) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + std::string(5'000'000, 'x'));
  });
  bool told = false;
  {
    BulkTransport bulk(net.loop);
    for (int i = 0; i < 4; ++i) {
      auto request = get(server.origin() + "/");
      request.buffer = 65'536;
      Transport::Handler handler;
      handler.sink = [](const Response&, std::string_view) { return true; };
      handler.done = [&](const auto&) { told = true; };
      bulk.start(std::move(request), std::move(handler));
    }
    net.run_until([&] { return server.connections.size() == 4; });
  }
  net.run_until([&] { return std::ranges::all_of(server.connections, [](const auto& one) { return one->ended; }); });
  CHECK_FALSE(told);
}
