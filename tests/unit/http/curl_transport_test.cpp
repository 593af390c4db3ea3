// SPDX-License-Identifier: Apache-2.0
#include "http/curl_transport.h"

#include <csignal>

#include "net.h"

using namespace trainstep;
using namespace trainstep::http;
using namespace trainstep::test;
using Catch::Contains;

namespace {

std::string first_line(const std::string& request) { return request.substr(0, request.find("\r\n")); }

void echo(Connection& connection, const std::string& request) { connection.send(answer(first_line(request))); }

void be_silent(Connection&, const std::string&) {}

const std::string chunked_head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("a request is sent as specified, and its response has status, headers and body") {
  Net net;
  ScriptedServer server(
      net.loop, [](Connection& c, const std::string&) { c.send("HTTP/1.1 201 Created\r\nX-One: 1\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello"); });
  auto request = get(server.origin() + "/a/../b%2Fc?x=1%202");
  request.method = "POST";
  request.body = std::string("a\0b", 3);
  request.headers = {{"Authorization", "Bearer t"}, {"X-Nothing", ""}, {"Content-Type", "application/json"}};
  const auto response = net.ask(request);
  REQUIRE(response);
  CHECK(response->status == 201);
  CHECK(response->body == "hello");
  CHECK(response->header("x-one") == "1");
  CHECK(response->header("x-empty") == "");
  const auto& sent = server.connections.at(0)->requests.at(0);
  CHECK_THAT(sent, Catch::StartsWith("POST /a/../b%2Fc?x=1%202 HTTP/1.1\r\nHost: " + server.place() + "\r\n"));
  for (const std::string line : {"Authorization: Bearer t", "X-Nothing:", "Content-Type: application/json", "Content-Length: 3"})
    CHECK_THAT(sent, Contains("\r\n" + line + "\r\n"));
  CHECK_THAT(sent, !Contains("Expect") && !Contains("Accept-Encoding"));
  CHECK_THAT(sent, Catch::EndsWith(request.body));
}

TEST_CASE("a sink gets the body as it comes, with the head; a refusal's body is gathered all the same") {
  Net net;
  ScriptedServer server(net.loop, [](Connection& c, const std::string& request) {
    c.send(request.starts_with("GET /no") ? "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nwhy"
                                          : "HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\n\r\n0123456789");
  });
  std::string taken;
  std::size_t most = 100;
  const auto ask = [&](const std::string& path) {
    std::optional<Result<Response>> result;
    Transport::Handler handler;
    handler.sink = [&](const Response& head, std::string_view bytes) {
      CHECK(head.status == 206);
      taken += bytes;
      return taken.size() < most;
    };
    handler.done = [&](Result<Response> response) { result = std::move(response); };
    net.transport->start(get(server.origin() + path), std::move(handler));
    net.run_until([&] { return result.has_value(); });
    REQUIRE(result);
    return std::move(*result);
  };
  const auto whole = ask("/x");
  REQUIRE(whole);
  CHECK(whole->body.empty());
  CHECK(taken == "0123456789");
  const auto refused = ask("/no");
  REQUIRE(refused);
  CHECK(refused->body == "why");
  CHECK(taken.size() == 10);
  most = 1;
  const auto unwanted = ask("/x");
  REQUIRE_FALSE(unwanted);
  CHECK(unwanted.error().kind == ErrorKind::internal);
  CHECK_THAT(unwanted.error().message, Contains("not needed"));
}

TEST_CASE("every method goes out as it is named, with a length where the method has a body") {
  Net net;
  std::string sent;
  ScriptedServer server(net.loop, [&](Connection& c, const std::string& request) {
    sent = request;
    c.send(answer(""));
  });
  for (const std::string method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}) {
    CAPTURE(method);
    auto request = get(server.origin() + "/x");
    request.method = method;
    REQUIRE(net.ask(request));
    CHECK(first_line(sent) == method + " /x HTTP/1.1");
    CHECK((sent.find("Content-Length: 0") != std::string::npos) == (method[0] == 'P'));
    CHECK_THAT(sent, !Contains("Content-Type"));
  }
  auto removal = get(server.origin() + "/x");
  removal.method = "DELETE";
  removal.body = "{}";
  REQUIRE(net.ask(removal));
  CHECK_THAT(sent, Catch::StartsWith("DELETE") && Contains("Content-Length: 2\r\n") && Catch::EndsWith("{}"));
}

TEST_CASE("requests one after the other use one connection, and a request on an open one is on the wire when start returns") {
  Net net;
  ScriptedServer server(net.loop, echo);
  REQUIRE(net.ask(get(server.origin() + "/1")));
  REQUIRE(net.ask(get(server.origin() + "/2")));
  REQUIRE(server.connections.size() == 1);
  auto& connection = *server.connections[0];
  Story story;
  net.transport->start(get(server.origin() + "/3"), story.handler());
  connection.pump();  // without the loop
  REQUIRE(connection.requests.size() == 3);
  CHECK(first_line(connection.requests[2]) == "GET /3 HTTP/1.1");
  CHECK(story.text.empty());  // nothing is told from within start()
  net.run_until([&] { return story.done; });
  CHECK(story.text == "200 data done");
}

TEST_CASE("a connection closed by the server in the meantime is reopened") {
  Net net;
  ScriptedServer server(net.loop, echo);
  REQUIRE(net.ask(get(server.origin() + "/1")));
  server.connections[0]->close();
  const auto response = net.ask(get(server.origin() + "/2"));
  REQUIRE(response);
  CHECK(server.connections.size() == 2);
}

TEST_CASE("a POST whose response is lost is reported, not sent again") {
  Net net;
  std::vector<std::string> seen;
  ScriptedServer server(net.loop, [&](Connection& connection, const std::string& request) {
    seen.push_back(first_line(request));
    if (request.starts_with("POST")) return connection.close();
    connection.send(answer(""));
  });
  REQUIRE(net.ask(get(server.origin() + "/1")));
  auto request = get(server.origin() + "/jobs");
  request.method = "POST";
  request.body = "{}";
  const auto response = net.ask(request);
  REQUIRE_FALSE(response);
  CHECK(response.error().kind == ErrorKind::unavailable);
  CHECK(seen == std::vector<std::string>{"GET /1 HTTP/1.1", "POST /jobs HTTP/1.1"});
}

TEST_CASE("a body is delivered in pieces as it arrives, wherever it is split") {
  const std::string whole = chunked_head + "4\r\nab\nc\r\n1\r\nd\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: x\r\n\r\n";
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    Net net;
    ScriptedServer server(net.loop, [&](Connection& c, const std::string&) {
      c.send(whole.substr(0, cut));
      net.loop.after(Duration{0}, [&] { c.send(whole.substr(cut)); });
    });
    Story story;
    net.transport->start(get(server.origin() + "/"), story.handler());
    net.run_until([&] { return story.done; });
    CAPTURE(cut);
    CHECK(story.text == "200 data done");
    CHECK(story.body == "ab\ncd0123456789abcdef");
    CHECK(story.message.empty());  // nothing is gathered as well
  }
}

TEST_CASE("a truncated response is unavailable, and the part before is delivered") {
  struct Row {
    std::string bytes;
    std::string told;
    bool reset;
  };
  const std::vector<Row> rows = {
      {"", "unavailable", false},
      {"", "unavailable", true},
      {"HTTP/1.1 200 O", "unavailable", false},
      {"HTTP/1.1 200 OK\r\nContent-Le", "unavailable", false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "200 unavailable", false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", "200 data unavailable", false},
      {chunked_head, "200 unavailable", false},
      {chunked_head + "5\r\nabc", "200 data unavailable", false},
      {chunked_head + "5\r\nabcde\r\n", "200 data unavailable", false},
      {chunked_head + "5\r\nabcde\r\nzz\r\n", "200 data unavailable", false},
      {"SSH-2.0-OpenSSH_9.2\r\n", "unavailable", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.bytes);
    Net net;
    ScriptedServer server(net.loop, [&](Connection& c, const std::string&) {
      c.send(row.bytes);
      if (row.reset)
        c.reset();
      else
        c.close();
    });
    Story story;
    net.transport->start(get(server.origin() + "/secret?token=hidden"), story.handler());
    net.run_until([&] { return story.done; });
    CHECK(story.text == row.told);
    CHECK_THAT(story.message, Catch::StartsWith(server.place() + ": ") && !Contains("hidden") && !Contains("secret"));
  }
}

TEST_CASE("silence ends an exchange, bytes that keep coming do not") {
  Net net;
  int drops = 12;
  std::function<void()> drip;
  ScriptedServer server(net.loop, [&](Connection& c, const std::string& request) {
    c.send(chunked_head);
    if (first_line(request) == "GET /silent HTTP/1.1") return;
    drip = [&] {
      c.send(drops > 0 ? "1\r\nx\r\n" : "0\r\n\r\n");
      if (drops-- > 0) net.loop.after(Duration{100}, drip);
    };
    drip();
  });
  auto dripping = get(server.origin() + "/dripping");
  dripping.silence = Duration{1000};
  const auto response = net.ask(dripping);
  REQUIRE(response);
  CHECK(response->body == "xxxxxxxxxxxx");

  auto silent = get(server.origin() + "/silent");
  silent.silence = Duration{20};
  const auto error = net.ask(silent);
  REQUIRE_FALSE(error);
  CHECK(error.error().kind == ErrorKind::unavailable);
  CHECK_THAT(error.error().message, Catch::StartsWith(server.place() + ": no data received for "));
}

TEST_CASE("the limit of a whole exchange is a timeout, also while bytes come") {
  Net net;
  std::function<void()> drip;
  ScriptedServer server(net.loop, [&](Connection& c, const std::string&) {
    c.send(chunked_head);
    drip = [&] {
      c.send("1\r\nx\r\n");
      net.loop.after(Duration{2}, drip);
    };
    drip();
  });
  auto request = get(server.origin() + "/");
  request.limit = Duration{30};
  const auto error = net.ask(request);
  REQUIRE_FALSE(error);
  CHECK(error.error().kind == ErrorKind::timeout);
}

TEST_CASE("connection refused: unavailable, with host, port and the system's reason") {
  Net net;
  std::string place;
  {
    ScriptedServer server(net.loop, be_silent);
    place = server.place();
  }
  auto request = get("http://" + place + "/?token=hidden");
  request.headers = {{"Authorization", "Bearer hidden"}};
  const auto error = net.ask(request);
  REQUIRE_FALSE(error);
  CHECK(error.error().kind == ErrorKind::unavailable);
  CHECK(error.error().message == place + ": cannot connect: Connection refused");
}

TEST_CASE("error responses are buffered, up to 64 KiB, even if there is a sink") {
  Net net;
  const std::string big(200'000, 'x');
  ScriptedServer server(net.loop, [&](Connection& c, const std::string& request) {
    if (request.starts_with("GET /moved"))
      c.send("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nno");
    else
      c.send("HTTP/1.1 100 Continue\r\n\r\n" + answer(big, "503 Service Unavailable"));
  });
  Story story;
  net.transport->start(get(server.origin() + "/"), story.handler());
  net.run_until([&] { return story.done; });
  CHECK(story.text == "503 done");
  CHECK(story.message == big.substr(0, 65'536));
  const auto moved = net.ask(get(server.origin() + "/moved"));
  REQUIRE(moved);
  CHECK(moved->status == 302);
  CHECK(server.connections.size() == 1);
}

TEST_CASE("a body of megabytes is sent and received, and one beyond the limit is rejected") {
  Net net;
  const std::string big(5'000'000, 'x');
  ScriptedServer server(net.loop, [&](Connection& c, const std::string& request) { c.send(answer(std::to_string(request.size()) + big)); });
  auto request = get(server.origin() + "/");
  request.method = "PUT";
  request.body = big;
  const auto response = net.ask(request);
  REQUIRE(response);
  CHECK(response->body.size() == 5'000'007);
  request.body_limit = 1'000'000;
  const auto error = net.ask(request);
  REQUIRE_FALSE(error);
  CHECK(error.error().kind == ErrorKind::unavailable);
  CHECK_THAT(error.error().message, Contains("exceeds 1000000 bytes"));
}

TEST_CASE("streams stay open concurrently with each other and with requests") {
  Net net;
  std::vector<Connection*> streams;
  ScriptedServer server(net.loop, [&](Connection& c, const std::string& request) {
    if (!request.starts_with("GET /stream")) return echo(c, request);
    c.send(chunked_head + "3\r\none\r\n");
    streams.push_back(&c);
  });
  Story first;
  Story second;
  net.transport->start(get(server.origin() + "/stream1"), first.handler());
  net.transport->start(get(server.origin() + "/stream2"), second.handler());
  net.run_until([&] { return first.body == "one" && second.body == "one"; });
  REQUIRE(net.ask(get(server.origin() + "/request")));
  CHECK(server.connections.size() == 3);
  streams.at(0)->send("3\r\ntwo\r\n0\r\n\r\n");
  streams.at(1)->send("5\r\nthree\r\n0\r\n\r\n");
  net.run_until([&] { return first.done && second.done; });
  CHECK((first.body == "onetwo" || first.body == "onethree"));
  CHECK((second.body == "onetwo" || second.body == "onethree"));
  CHECK(first.body != second.body);
}

TEST_CASE("a cancelled exchange calls no handler, and its connection is closed") {
  Net net;
  ScriptedServer server(net.loop, [](Connection& c, const std::string&) { c.send(chunked_head + "3\r\none\r\n"); });
  Story story;
  const auto id = net.transport->start(get(server.origin() + "/"), story.handler());
  net.run_until([&] { return story.body == "one"; });
  net.transport->cancel(id);
  net.transport->cancel(id);
  net.transport->cancel(4711);
  net.run_until([&] { return server.connections.at(0)->ended; });
  CHECK(story.text == "200 data ");
}

TEST_CASE("handlers may cancel their own exchange and others, and start new ones") {
  Net net;
  ScriptedServer server(net.loop, [](Connection& c, const std::string&) { c.send(chunked_head + "3\r\none\r\n"); });
  std::string told;
  std::vector<Transport::Id> ids(3);
  bool last = false;
  const auto make = [&](const std::string& name, std::function<void()> in_head, std::function<void()> in_data) {
    return Transport::Handler{.head =
                                  [&told, name, act = std::move(in_head)](const Response&) {
                                    told += name + "head ";
                                    if (act) act();
                                  },
                              .data =
                                  [&told, name, act = std::move(in_data)](std::string_view) {
                                    told += name + "data ";
                                    if (act) act();
                                  },
                              .done = [&told, name](const Result<Response>&) { told += name + "done "; }};
  };
  ids[0] = net.transport->start(get(server.origin() + "/0"), make("a", [&] { net.transport->cancel(ids[0]); }, {}));
  net.run_until([&] { return !told.empty(); });
  CHECK(told == "ahead ");

  told.clear();
  ids[1] = net.transport->start(get(server.origin() + "/1"), make("b", {}, {}));
  net.run_until([&] { return told == "bhead bdata "; });
  ids[2] = net.transport->start(get(server.origin() + "/2"), make("c", {}, [&] {
                                  net.transport->cancel(ids[1]);
                                  net.transport->cancel(ids[2]);
                                  net.transport->start(get(server.origin() + "/3"), make("d", {}, [&] { last = true; }));
                                }));
  net.run_until([&] { return last; });
  CHECK(told == "bhead bdata chead cdata dhead ddata ");
}

TEST_CASE("done may start the next request, on the same connection") {
  Net net;
  ScriptedServer server(net.loop, echo);
  int count = 0;
  std::function<void()> next = [&] {
    net.transport->start(get(server.origin() + "/"), {.head = {}, .data = {}, .done = [&](const Result<Response>& response) {
                                                        CHECK(response);
                                                        if (++count < 20) next();
                                                      }});
  };
  next();
  net.run_until([&] { return count == 20; });
  CHECK(server.connections.size() == 1);
}

TEST_CASE("the transport may go while exchanges are under way, also from within a handler") {
  Net net;
  ScriptedServer server(net.loop, [](Connection& c, const std::string&) { c.send(chunked_head + "3\r\none\r\n"); });
  Story one;
  Story two;
  SECTION("between them") {
    net.transport->start(get(server.origin() + "/"), one.handler());
    net.run_until([&] { return one.body == "one"; });
    net.transport->start(get(server.origin() + "/"), two.handler());
    net.transport.reset();
  }
  SECTION("from within") {
    auto handler = one.handler();
    handler.data = [&](std::string_view bytes) {
      one.body = bytes;
      net.transport.reset();
    };
    net.transport->start(get(server.origin() + "/"), std::move(handler));
    net.transport->start(get(server.origin() + "/"), two.handler());
    net.run_until([&] { return one.body == "one"; });
  }
  net.run_until([&] {
    for (const auto& connection : server.connections)
      if (!connection->ended) return false;
    return true;
  });
  CHECK_FALSE(one.done);
  CHECK_FALSE(two.done);
}

TEST_CASE("idle connections do not keep the loop running") {
  Net net;
  ScriptedServer server(net.loop, echo);
  bool done = false;
  auto request = get(server.origin() + "/");
  request.limit = Duration{3'600'000};
  request.silence = Duration{3'600'000};
  net.transport->start(request, {.head = {}, .data = {}, .done = [&](const Result<Response>& response) {
                                   CHECK(response);
                                   done = true;
                                   server.stop();
                                 }});
  net.loop.run();
  CHECK(done);
}

TEST_CASE("an invalid request is reported from the loop, without its values") {
  Net net;
  auto request = get("http://127.0.0.1:1/");
  request.headers = {{"Authorization", "Bearer hidden\r\nX-Injected: yes"}};
  Story story;
  net.transport->start(request, story.handler());
  CHECK_FALSE(story.done);
  net.run_until([&] { return story.done; });
  CHECK(story.text == "other");
  CHECK_THAT(story.message, Contains("line break") && !Contains("hidden"));
}

TEST_CASE("a broken connection does not kill the process") {
  const PollLoop loop;
  Net net;
  struct sigaction action{};
  REQUIRE(::sigaction(SIGPIPE, nullptr, &action) == 0);
  CHECK(action.sa_handler == SIG_IGN);
}

TEST_CASE("a proxy is used if the endpoint names one, and its rejection is reported") {
  Net net;
  ScriptedServer proxy(net.loop, [](Connection& c, const std::string& request) {
    if (request.starts_with("CONNECT"))
      c.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    else
      echo(c, request);
  });
  Endpoint endpoint;
  endpoint.proxy = "http://user:hidden@" + proxy.place();
  auto request = get("http://api.invalid:8080/x");
  request.endpoint = std::make_shared<Endpoint>(endpoint);
  const auto response = net.ask(request);
  REQUIRE(response);
  CHECK(response->body == "GET http://api.invalid:8080/x HTTP/1.1");
  request.url = Url::parse("https://api.invalid/x").value();
  const auto refused = net.ask(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message == "api.invalid:443: cannot connect through the proxy: CONNECT tunnel failed, response 403");
  proxy.stop();
  const auto gone = net.ask(request);
  REQUIRE_FALSE(gone);
  CHECK_THAT(gone.error().message, Contains("cannot connect through the proxy") && !Contains("hidden"));
}

TEST_CASE("a held exchange reads no more of its body, and the silence timeout is suspended") {
  Net net;
  const std::string body(std::size_t{4} << 20U, 'x');
  ScriptedServer server(net.loop, [&](Connection& c, const std::string&) { c.send(answer(body)); });
  Story story;
  std::size_t seen = 0;
  auto handler = story.handler();
  Transport::Id id = 0;
  handler.data = [&](std::string_view bytes) {
    seen += bytes.size();
    net.transport->hold(id, true);
  };
  auto request = get(server.origin() + "/x");
  request.silence = Duration(2'000);  // more than a busy machine takes to bring the first bytes
  id = net.transport->start(request, std::move(handler));
  net.run_until([&] { return seen > 0; });
  const auto before = seen;
  bool passed = false;
  net.loop.after(Duration(2'500), [&] { passed = true; });
  net.run_until([&] { return passed; });
  CHECK(seen == before);
  CHECK_FALSE(story.done);
  std::function<void()> go_on = [&] {
    net.transport->hold(id, false);
    if (!story.done) net.loop.after(Duration(1), go_on);
  };
  go_on();
  net.run_until([&] { return story.done; });
  CHECK(seen == body.size());
  CHECK(story.text == "200 done");
}
