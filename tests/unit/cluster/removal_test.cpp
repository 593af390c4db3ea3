// The DELETE of one object, before a scripted server.
#include "cluster/removal.h"

#include <algorithm>

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

Json object(bool going = false, const std::vector<std::string>& finalizers = {}) {
  Json result = {{"metadata", {{"name", "train-1"}, {"uid", "u"}, {"resourceVersion", "5"}}}};
  if (going) result["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  if (!finalizers.empty()) result["metadata"]["finalizers"] = finalizers;
  return result;
}

Reply ok(const Json& object) { return Reply::text(to_text(object)); }

struct Deleted {
  Harness h;
  std::function<Reply()> deletes = [] { return named("train-1"); };
  std::function<Reply()> looks = [] { return absent("train-1"); };
  std::vector<Time> sent;
  std::vector<std::string> failing, remains;
  std::optional<Removal::Outcome> ended;
  Time begun, ended_at;
  Removal::Order order{{"batch/v1", "jobs", "ns", "train-1", ""}, "u"};

  Deleted() { order.to_the_end = true; }
  void run(Duration longest) {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      if (asked.request.method == "DELETE") sent.push_back(asked.at);
      return asked.request.method == "DELETE" ? deletes() : looks();
    });
    begun = h.loop.now();
    const Removal removal(*h.client, order,
                          {[this](const kube::ApiError& problem) { failing.push_back(problem.error.message); },
                           [this](const Json& last) { remains.push_back(what_remains(last)); },
                           [this](Removal::Outcome outcome) {
                             REQUIRE_FALSE(ended);
                             ended = std::move(outcome);
                             ended_at = h.loop.now();
                           }});
    h.loop.run(longest);
  }
};

}  // namespace

TEST_CASE_METHOD(Deleted, "its end is awaited, and what it waits for is named after seconds") {
  int looked = 0;
  looks = [&] { return ++looked < 60 ? ok(object(true, {"foregroundDeletion", "example.com/a", "example.com/b"})) : absent("train-1"); };
  run(5min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::gone);
  CHECK(sent.size() == 1);
  CHECK(remains == std::vector<std::string>{"its finalizers example.com/a, example.com/b"});
  CHECK(failing.empty());
}

TEST_CASE_METHOD(Deleted, "a removal that does not finish is awaited for the given time, with few requests") {
  order.end_timeout = Duration(120'000);
  looks = [] { return ok(object(true)); };
  run(10min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::taken);
  CHECK_FALSE(ended->problem);
  CHECK(what_remains(ended->last) == "its pods");
  CHECK(ended_at - begun < 125s);
  CHECK(h.server.asked().size() < 150);
}

TEST_CASE_METHOD(Deleted, "a response to a GET that does not concern the object does not end the wait") {
  int looked = 0;
  looks = [&] {
    ++looked;
    if (looked == 3) return Reply::text("{}");
    return looked == 1 ? gateways_404() : looked == 2 ? no_such_path() : looked < 6 ? ok(object(true)) : absent("train-1");
  };
  run(5min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::gone);
  CHECK(looked == 6);
}

TEST_CASE_METHOD(Deleted, "an object that exists and is not terminating is reported as possibly existing") {
  order.end_timeout = Duration(60'000);
  SECTION("each DELETE is in conflict") {
    deletes = [] { return refusal(409, "Conflict", "the object has been modified"); };
  }
  SECTION("each DELETE meets a gateway") {
    deletes = [] { return gateways_404(); };
  }
  SECTION("no DELETE has an answer") {
    deletes = [] { return Reply::silent(); };
  }
  SECTION("a DELETE is handled by a server that does not know it") {}
  looks = [] { return ok(object()); };
  run(10min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::failed);
  CHECK(ended_at - begun < 75s);
}

TEST_CASE_METHOD(Deleted, "one unexpected response to a DELETE is not final: it is sent again") {
  const auto status = GENERATE(300, 400, 405, 410, 413, 422, 451, 501, 505);
  CAPTURE(status);
  const auto worded = GENERATE(true, false);
  deletes = [&] {
    if (sent.size() > 1) return named("train-1");
    return worded ? refusal(status, "Gone", "no") : Reply::text("<html>", status);
  };
  looks = [this] { return sent.size() < 2 ? ok(object()) : absent("train-1"); };
  run(5min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::gone);
  CHECK(sent.size() == 2);
}

TEST_CASE_METHOD(Deleted, "an unexpected response that persists is accepted after the timeout, and reported") {
  deletes = [] { return refusal(410, "Gone", "no"); };
  looks = [] { return ok(object()); };
  run(5min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::failed);
  REQUIRE(ended->problem);
  CHECK(ended->problem->error.message == "delete jobs/train-1: no");
  CHECK(ended_at - begun >= 30s);
  CHECK(ended_at - begun < 40s);
}

TEST_CASE_METHOD(Deleted, "an unreachable server is reported, waited for, and given up in the end") {
  deletes = looks = [] { return Reply::lost(); };
  order.silence = Duration(900'000);
  run(1h);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::failed);
  REQUIRE(ended->problem);
  CHECK_FALSE(failing.empty());
  CHECK(ended_at - begun >= 15min);
  CHECK(ended_at - begun < 17min);
}

TEST_CASE_METHOD(Deleted, "a response overdue for seconds is reported before the object is read instead") {
  deletes = [] { return Reply::silent(); };
  looks = [this] { return sent.size() < 2 ? ok(object()) : absent("train-1"); };
  run(1min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::gone);
  CHECK(failing.front() == "delete jobs/train-1: no answer for 5.0 s");
  CHECK(sent.at(1) - sent.at(0) < 11s);
}

TEST_CASE_METHOD(Deleted, "404 for a DELETE is not final: a lagging server may not know the object yet") {
  int looked = 0;
  deletes = [this] { return sent.size() < 2 ? Reply::text("slow down", 429) : sent.size() < 3 ? named("train-1") : absent("train-1"); };
  SECTION("it is there") {
    looks = [&] { return ++looked == 1 ? absent("train-1") : looked < 4 ? ok(object(true)) : absent("train-1"); };
    run(5min);
    CHECK(looked == 4);
  }
  SECTION("it is not") {
    deletes = [this] { return sent.size() < 2 ? Reply::text("slow down", 429) : absent("train-1"); };
    run(5min);
  }
  SECTION("and the server refuses it") {
    deletes = [] { return Reply::text("slow down", 429); };
    run(5min);
  }
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::gone);
  CHECK(sent.size() == 2);
}

TEST_CASE_METHOD(Deleted, "a DELETE of another client, which orphans the pods, is not taken for our lost one") {
  deletes = [this] { return sent.size() < 2 ? Reply::lost() : named("train-1"); };
  SECTION("another's") {
    looks = [this] { return sent.size() < 2 ? ok(object(true, {"example.com/a"})) : absent("train-1"); };
    run(5min);
    CHECK(sent.size() == 2);
  }
  SECTION("ours") {
    int looked = 0;
    looks = [&] { return ++looked < 3 ? ok(object(true, {"foregroundDeletion", "example.com/a"})) : absent("train-1"); };
    run(5min);
    CHECK(sent.size() == 1);
  }
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::gone);
}

TEST_CASE_METHOD(Deleted, "without read permission an accepted DELETE is trusted") {
  looks = [] { return refusal(403, "Forbidden", R"(User "x" cannot get resource)"); };
  run(5min);
  REQUIRE(ended);
  CHECK(ended->end == Removal::End::taken);
  REQUIRE(ended->problem);
  CHECK(ended->problem->error.kind == ErrorKind::denied);
}

TEST_CASE_METHOD(Deleted, "while a plug-in gives no token the DELETE is tried for the timeout, and goes out once there is one") {
  const Error none{ErrorKind::cancelled, "the exec plug-in ended with exit code 1"};
  h.tokens->problem = none;
  SECTION("it works again") {
    h.loop.after(3s, [this] { h.tokens->problem.reset(); });
    looks = [this] { return sent.empty() ? ok(object()) : absent("train-1"); };
    run(5min);
    REQUIRE(ended);
    CHECK(ended->end == Removal::End::gone);
    CHECK(sent.size() == 1);
  }
  SECTION("it does not") {
    run(5min);
    REQUIRE(ended);
    CHECK(ended->end == Removal::End::failed);
    REQUIRE(ended->problem);
    CHECK(ended->problem->error.message.find("exit code 1") != std::string::npos);
    CHECK(ended_at - begun >= 30s);
    CHECK(ended_at - begun < 40s);
    CHECK(sent.empty());
  }
}
