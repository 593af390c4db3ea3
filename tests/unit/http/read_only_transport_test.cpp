// Read-only commands cannot send writes.
#include "http/read_only_transport.h"

#include <optional>

#include "support/catch.h"
#include "support/fake_transport.h"

using namespace trainstep;
using namespace trainstep::http;
using namespace std::chrono_literals;
using trainstep::test::FakeTransport;
using trainstep::test::Reply;
using trainstep::test::VirtualLoop;

namespace {

struct Way {
  VirtualLoop loop;
  FakeTransport server{loop};
  ReadOnlyTransport transport{loop, server};
  std::optional<Result<Response>> answer;

  Transport::Id send(const std::string& method) {
    Request request;
    request.method = method;
    return transport.start(std::move(request), {.head = {}, .data = {}, .done = [this](Result<Response> response) { answer = std::move(response); }});
  }
};

}  // namespace

TEST_CASE_METHOD(Way, "what reads is passed on") {
  server.reply(Reply::text("all well"));
  send("GET");
  loop.run(1s);
  REQUIRE(answer);
  REQUIRE(*answer);
  CHECK((*answer)->body == "all well");
}

TEST_CASE_METHOD(Way, "writes are never sent, and the caller gets an error") {
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE", "get", ""}) {
    CAPTURE(method);
    answer.reset();
    send(method);
    CHECK_FALSE(answer);  // from the loop only
    loop.run(1s);
    REQUIRE(answer);
    REQUIRE_FALSE(*answer);
    CHECK(answer->error().kind == ErrorKind::internal);
  }
  CHECK(server.asked().empty());
}

TEST_CASE_METHOD(Way, "either can be cancelled") {
  transport.cancel(send("DELETE"));
  transport.cancel(send("GET"));
  loop.run(1h);
  CHECK_FALSE(answer);
  CHECK(server.open() == 0);
}
