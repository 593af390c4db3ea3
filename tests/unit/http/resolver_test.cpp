// SPDX-License-Identifier: Apache-2.0
#include "http/resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "base/fd.h"
#include "http/route.h"
#include "net.h"

using namespace trainstep;
using namespace trainstep::http;
using trainstep::test::Net;

namespace {

// Answers A with 192.0.2.NUMBER and AAAA with nothing; names that begin with 'm' do not exist, those with 's' get no answer.
class NameServer {
 public:
  explicit NameServer(PollLoop& loop) : m_loop(loop), m_socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(m_socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(m_socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    place = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    loop.on_readable(m_socket.get(), [this] { answer(); });
  }
  ~NameServer() { m_loop.forget(m_socket.get()); }
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  std::string place;
  char number = 1;
  int questions = 0;

 private:
  void answer() {
    std::array<char, 512> buffer{};
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const auto count = ::recvfrom(m_socket.get(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (count < 17) return;
    ++questions;
    std::string question(buffer.data(), static_cast<std::size_t>(count));
    if (question[13] == 's') return;
    const bool missing = question[13] == 'm';
    const auto type_at = question.find('\0', 12) + 1;
    const bool address = !missing && question[type_at + 1] == 1;
    question = question.substr(0, type_at + 4);  // without the options that follow
    question[2] = '\x81';
    question[3] = missing ? '\x83' : '\x80';
    question[7] = address ? 1 : 0;
    question[9] = question[11] = 0;
    if (address) question += std::string("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2", 15) + number;
    ::sendto(m_socket.get(), question.data(), question.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }

  PollLoop& m_loop;
  Fd m_socket;
};

}  // namespace

TEST_CASE("a name is asked for once for all who wait, and known afterwards") {
  Net net;
  NameServer server(net.loop);
  Resolver resolver(net.loop, server.place);
  CHECK_FALSE(resolver.known("api.test."));
  std::vector<Result<Resolver::Addresses>> found;
  for (int i = 0; i < 3; ++i) resolver.resolve("api.test.", [&](const auto& addresses) { found.push_back(addresses); });
  CHECK(found.empty());
  net.run_until([&] { return found.size() == 3; });
  for (const auto& addresses : found) {
    REQUIRE(addresses);
    CHECK(*addresses == Resolver::Addresses{"192.0.2.1"});
  }
  CHECK(server.questions == 2);  // A and AAAA
  CHECK(resolver.known("api.test.") == Resolver::Addresses{"192.0.2.1"});
}

TEST_CASE("a name that does not exist is unavailable, with the reason, and not known") {
  Net net;
  NameServer server(net.loop);
  Resolver resolver(net.loop, server.place);
  std::optional<Result<Resolver::Addresses>> found;
  resolver.resolve("missing.test.", [&](const auto& addresses) { found = addresses; });
  net.run_until([&] { return found.has_value(); });
  REQUIRE_FALSE(*found);
  CHECK(found->error().kind == ErrorKind::unavailable);
  CHECK(found->error().message == "Domain name not found");
  CHECK_FALSE(resolver.known("missing.test."));
}

TEST_CASE("names of this machine are found in its files") {
  Net net;
  Resolver resolver(net.loop);
  std::optional<Result<Resolver::Addresses>> found;
  resolver.resolve("localhost", [&](const auto& addresses) { found = addresses; });
  net.run_until([&] { return found.has_value(); });
  REQUIRE(*found);
  CHECK_THAT(**found, Catch::VectorContains(std::string("127.0.0.1")) || Catch::VectorContains(std::string("::1")));
}

TEST_CASE("a resolver may go while it asks, and a look-up leaves nothing in the loop") {
  PollLoop loop;
  NameServer server(loop);
  bool told = false;
  {
    Resolver resolver(loop, server.place);
    resolver.resolve("silent.test.", [&](const auto&) { told = true; });
  }
  {
    Resolver resolver(loop, server.place);
    resolver.resolve("api.test.", [&](const auto&) {
      told = true;
      loop.post([&] { loop.stop(); });
    });
    loop.run();
  }
  CHECK(told);
}

TEST_CASE("a request by name reaches its server, and an unknown name is reported") {
  Net net;
  test::ScriptedServer server(net.loop, [](test::Connection& c, const std::string&) { c.send(test::answer("hello")); });
  const auto by_name = "http://localhost:" + std::to_string(server.port()) + "/";
  const auto first = net.ask(test::get(by_name));
  if (!first) FAIL(first.error().message);
  test::Story story;
  net.transport->start(test::get(by_name), story.handler());
  server.connections.at(0)->pump();
  CHECK(server.connections.at(0)->requests.size() == 2);  // at once: nothing is asked for an open connection
  net.run_until([&] { return story.done; });
}

TEST_CASE("the first hop is the server or its proxy") {
  struct Row {
    std::string url;
    std::string proxy;
    std::string host;
    int port;
    bool numeric;
    std::string given;  // to libcurl
  };
  const std::vector<Row> rows = {
      {"https://api.example", "", "api.example", 443, false, ""},
      {"http://api.example:8080", "", "api.example", 8080, false, ""},
      {"https://[::1]:6443", "", "::1", 6443, true, ""},
      {"https://10.96.0.1", "", "10.96.0.1", 443, true, ""},
      {"https://api.example", "http://Proxy.example:3128/", "proxy.example", 3128, false, "http://Proxy.example:3128/"},
      {"https://api.example", "proxy.example", "proxy.example", 1080, false, "proxy.example"},
      {"https://api.example", "https://u:p@w@proxy.example", "proxy.example", 443, false, "https://u:p@w@proxy.example"},
      {"https://api.example", "http://[fd00::1]:3128", "fd00::1", 3128, true, "http://[fd00::1]:3128"},
      {"https://api.example", "socks5://10.0.0.1", "10.0.0.1", 1080, true, "socks5h://10.0.0.1"},
      {"https://api.example", "socks5h://p:1", "p", 1, false, "socks5h://p:1"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.url, row.proxy);
    Endpoint endpoint;
    endpoint.proxy = row.proxy;
    const auto route = route_of(Url::parse(row.url).value(), endpoint, [](const char*) { return std::nullopt; });
    CHECK(route.host == row.host);
    CHECK(route.port == row.port);
    CHECK(route.numeric == row.numeric);
    CHECK(route.proxy == row.given);
  }
}

TEST_CASE("a direct request uses no proxy, whatever the environment") {
  const Environment environment = [](const char* name) {
    return std::string_view(name) == "HTTP_PROXY" ? std::optional("http://proxy:3128") : std::nullopt;
  };
  const auto url = Url::parse("http://169.254.170.23/v1").value();
  Endpoint endpoint;
  CHECK(route_of(url, endpoint, environment).host == "proxy");
  endpoint.direct = true;
  CHECK(route_of(url, endpoint, environment).host == "169.254.170.23");
}
