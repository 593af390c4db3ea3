// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "http/curl_transport.h"
#include "net.h"

using namespace trainstep;
using namespace trainstep::http;
using namespace trainstep::test;
using Catch::Contains;

namespace {

void answer_hello(Connection& connection, const std::string&) { connection.send(answer("hello")); }

struct World {
  Authority authority{"test CA"};
  Net net;
  ScriptedServer::Tls tls{authority.issue("server", "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"), ""};

  Result<Response> ask(const ScriptedServer& server, const Endpoint& endpoint) { return net.ask(request(server, endpoint)); }
  static Request request(const ScriptedServer& server, const Endpoint& endpoint) {
    auto made = get(server.origin() + "/?token=hidden");
    made.headers = {{"Authorization", "Bearer hidden"}};
    made.endpoint = std::make_shared<Endpoint>(endpoint);
    return made;
  }
};

Endpoint trusting(const std::string& authorities, const std::string& name = "") {
  Endpoint endpoint;
  endpoint.ca_pem = authorities;
  endpoint.server_name = name;
  return endpoint;
}

void check_denied(const Result<Response>& result, const ScriptedServer& server, const std::vector<std::string>& words) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::denied);
  CHECK_THAT(result.error().message, Catch::StartsWith(server.place() + ": ") && !Contains("hidden"));
  for (const auto& word : words) CHECK_THAT(result.error().message, Contains(word));
}

}  // namespace

TEST_CASE("a server whose certificate the given authority has signed is trusted, and its connection used again by equal endpoints only") {
  World world;
  ScriptedServer server(world.net.loop, answer_hello, &world.tls);
  const auto endpoint = trusting(world.authority.pem());
  for (int i = 0; i < 3; ++i) {
    const auto response = world.ask(server, endpoint);
    REQUIRE(response);
    CHECK(response->body == "hello");
  }
  CHECK(server.connections.size() == 1);
  auto other = endpoint;
  other.ca_pem += Authority("another").pem();
  REQUIRE(world.ask(server, other));
  CHECK(server.connections.size() == 2);
}

TEST_CASE("TLS streams come as they are sent, and a request on an open connection is written at once") {
  World world;
  ScriptedServer server(
      world.net.loop,
      [](Connection& c, const std::string& request) {
        c.send(request.find("/stream") == std::string::npos ? answer("hello") : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
      },
      &world.tls);
  const auto endpoint = trusting(world.authority.pem());
  Story stream;
  auto watching = World::request(server, endpoint);
  watching.url.path = "/stream";
  world.net.transport->start(watching, stream.handler());
  world.net.run_until([&] { return stream.body == "one"; });
  REQUIRE(world.ask(server, endpoint));
  REQUIRE(server.connections.size() == 2);
  Story story;
  world.net.transport->start(World::request(server, endpoint), story.handler());
  server.connections[1]->pump();
  CHECK(server.connections[1]->requests.size() == 2);
  std::string big(100'000, 'x');
  server.connections[0]->send("186a0\r\n" + big + "\r\n");
  world.net.run_until([&] { return story.done && stream.body.size() == 100'003; });
  server.connections[0]->reset();
  world.net.run_until([&] { return stream.done; });
  CHECK(stream.text == "200 data unavailable");
}

TEST_CASE("a server that the given authority has not signed is denied, with what to do") {
  World world;
  ScriptedServer server(world.net.loop, answer_hello, &world.tls);
  check_denied(world.ask(server, trusting(Authority("another").pem())), server, {"certificate was rejected", "Configure the server's own"});
  check_denied(world.ask(server, {}), server, {"certificate was rejected", "SSL_CERT_FILE", "certificate-authority-data"});
  check_denied(world.ask(server, trusting("it is signed by an unknown certificate")), server, {"cannot read the trusted", "PEM"});
  Endpoint careless;
  careless.verify = false;
  REQUIRE(world.ask(server, careless));
}

TEST_CASE("SSL_CERT_FILE is trusted where no authority is given, and only there") {
  World world;
  ScriptedServer server(world.net.loop, answer_hello, &world.tls);
  auto name = std::string("/tmp/trainstep-ca-XXXXXX");
  const Fd file(::mkstemp(name.data()));
  const auto pem = world.authority.pem();
  REQUIRE(::write(file.get(), pem.data(), pem.size()) == static_cast<ssize_t>(pem.size()));
  ::setenv("SSL_CERT_FILE", name.c_str(), 1);
  const auto trusted = world.ask(server, {});
  const auto denied = world.ask(server, trusting(Authority("another").pem()));
  ::unsetenv("SSL_CERT_FILE");
  ::unlink(name.c_str());
  CHECK(trusted);
  CHECK_FALSE(denied);
}

TEST_CASE("a certificate for another name or another time is denied, with what to do") {
  World world;
  const auto endpoint = trusting(world.authority.pem());
  SECTION("name") {
    world.tls.identity = world.authority.issue("server", "DNS:elsewhere");
    const ScriptedServer server(world.net.loop, answer_hello, &world.tls);
    check_denied(world.ask(server, endpoint), server, {"127.0.0.1", "tls-server-name"});
  }
  SECTION("time") {
    world.tls.identity = world.authority.issue("server", "IP:127.0.0.1", -60);
    const ScriptedServer server(world.net.loop, answer_hello, &world.tls);
    check_denied(world.ask(server, endpoint), server, {"expired", "clock"});
  }
}

TEST_CASE("the name to expect is sent as SNI and looked for in the certificate, while the request goes to the host") {
  World world;
  world.tls.identity = world.authority.issue("server", "DNS:inner.example");
  std::string seen;
  ScriptedServer server(
      world.net.loop,
      [&](Connection& c, const std::string& request) {
        seen = request;
        c.send(answer("hello"));
      },
      &world.tls);
  const auto response = world.ask(server, trusting(world.authority.pem(), "inner.example"));
  REQUIRE(response);
  CHECK(server.connections.at(0)->server_name() == "inner.example");
  CHECK_THAT(seen, Contains("\r\nHost: " + server.place() + "\r\n"));
  check_denied(world.ask(server, trusting(world.authority.pem(), "other.example")), server, {"other.example"});
}

TEST_CASE("a server that requires client authentication gets the certificate; without one, or with a wrong one, access is denied") {
  World world;
  Authority clients("clients");
  world.tls.client_authority_pem = clients.pem();
  ScriptedServer server(world.net.loop, answer_hello, &world.tls);
  const auto known = clients.issue("alice", "");
  const auto unknown = world.authority.issue("mallory", "");
  const auto anonymous = trusting(world.authority.pem());
  const auto with = [&](const std::string& certificate, const std::string& key) {
    auto endpoint = anonymous;
    endpoint.certificate_pem = certificate;
    endpoint.key_pem = key;
    return endpoint;
  };
  check_denied(world.ask(server, with(known.certificate_pem, unknown.key_pem)), server, {"cannot use the client certificate or its key"});
  REQUIRE(world.ask(server, with(known.certificate_pem, known.key_pem)));
  CHECK(server.connections.back()->peer_name() == "alice");
  check_denied(world.ask(server, anonymous), server, {"requires a client certificate, and none is configured"});
  check_denied(world.ask(server, with(unknown.certificate_pem, unknown.key_pem)), server, {"rejected the client certificate"});
  check_denied(world.ask(server, with("hidden", "hidden")), server, {"cannot use the client certificate or its key"});
  REQUIRE(world.ask(server, with(known.certificate_pem, known.key_pem)));
}

TEST_CASE("a handshake that does not come to an end is limited by the connect limit") {
  World world;
  // It speaks no TLS and says nothing.
  ScriptedServer server(world.net.loop, answer_hello);
  auto request = World::request(server, {});
  request.url.scheme = "https";
  request.connect_limit = Duration{30};
  const auto result = world.net.ask(request);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::unavailable);
  CHECK_THAT(result.error().message, Catch::StartsWith(server.place() + ": no connection within "));
}

TEST_CASE("a server without TLS is unavailable, with that reason") {
  World world;
  ScriptedServer server(world.net.loop, answer_hello);
  world.net.loop.post([] {});
  auto request = World::request(server, {});
  request.url.scheme = "https";
  std::optional<Result<Response>> got;
  world.net.transport->start(request, {.head = {}, .data = {}, .done = [&](auto result) { got = std::move(result); }});
  world.net.run_until([&] { return !server.connections.empty() && !server.connections[0]->raw().empty(); });
  server.connections[0]->send("HTTP/1.1 400 Bad Request\r\n\r\n");
  world.net.run_until([&] { return got.has_value(); });
  REQUIRE_FALSE(*got);
  CHECK(got->error().kind == ErrorKind::unavailable);
  CHECK_THAT(got->error().message, Contains("cannot establish a TLS connection"));
}
