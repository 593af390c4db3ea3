// Two pods of one job that deliver to one address, and stores that make it hard to see.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "staging/delivery.h"
#include "staging/written_objects.h"
#include "support/catch.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::staging;
using namespace trainstep::staging::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

using Objects = std::map<std::string, std::string>;

struct Pods : StoreOfPod {
  std::vector<std::string> told;
  std::vector<plan::TaskOutput> outputs{{"model", spec::Type::artifact, "", in_pod("model"), "", {"s3://bkt/run/model", 0, ""}}};
  DeliveryOptions options{.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""}, .pod = "one", .mark = "train.1"};

  Pods() {
    write(in_pod("model/ckpt-one"), "one");
    write(in_pod("model/common"), "one");
  }
  Result<Staged> deliver(Duration limit = 30min) {
    std::optional<Result<Staged>> result;
    const Delivery delivery(*stores, outputs, limit,
                            {[this](const std::string& line) { told.push_back(line); }, [&](Result<Staged> staged) { result = std::move(staged); }},
                            options);
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  // What the pod that has followed does in a moment.
  void other_delivers() {
    for (const auto* key : {"run/model/ckpt-two", "run/model/common"}) {
      objects[key] = "two";
      marks[key] = "train.1/two";
    }
    objects.erase("run/model/ckpt-one");
  }
  // After the answer to the first request whose line begins so.
  void after(const std::string& beginning, const std::function<void()>& does) {
    fault = [=, this, done = false](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
      if (done || !asked.line().starts_with(beginning)) return std::nullopt;
      done = true;
      auto reply = answer(asked);
      does();
      return reply;
    };
  }
  [[nodiscard]] Objects model() const {
    auto seen = objects;
    seen.erase("run/.trainstep/job/outputs.json");
    return seen;
  }
};

const Objects whole{{"run/model/ckpt-one", "one"}, {"run/model/common", "one"}};

}  // namespace

TEST_CASE_METHOD(Pods, "of two pods that deliver concurrently, the last writer leaves a complete model of its own") {
  const auto when = GENERATE("PUT /bkt/run/model/ckpt-one", "PUT /bkt/run/model/common", "PUT /bkt/run/.trainstep/job/outputs.json");
  CAPTURE(when);
  after(when, [this] { other_delivers(); });
  const auto done = deliver();
  REQUIRE(done);
  CHECK(model() == whole);
}

TEST_CASE_METHOD(Pods, "objects that others put at an address during a delivery are kept and reported") {
  after("PUT /bkt/run/model/common", [this] { objects["run/model/notes"] = "of others"; });
  REQUIRE(deliver());
  CHECK(objects.contains("run/model/notes"));
  CHECK_THAT(told.back(), Contains("notes"));
}

TEST_CASE_METHOD(Pods, "an output that is replaced repeatedly is not delivered") {
  fault = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (!asked.line().starts_with("PUT /bkt/run/model/common")) return std::nullopt;
    auto reply = answer(asked);
    objects["run/model/common"] = "two";
    marks["run/model/common"] = "train.1/two";
    return reply;
  };
  const auto done = deliver(10min);
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::unavailable);
  CHECK_THAT(done.error().message, Contains("common") && Contains("written: another client is writing there"));
}

TEST_CASE_METHOD(Pods, "a store that lists other tags than it answers, or none, is believed by the marks, or where there are none") {
  const bool none = GENERATE(false, true), marked = GENERATE(false, true);
  fault = [this, none, marked](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.query("list-type") != "2") return std::nullopt;
    auto reply = answer(asked);
    if (!marked) marks.clear();
    for (auto at = reply.pieces.front().bytes.find("<ETag>"); at != std::string::npos; at = reply.pieces.front().bytes.find("<ETag>", at + 1))
      none ? reply.pieces.front().bytes.erase(at + 6, 32) : reply.pieces.front().bytes.replace(at + 6, 4, "odd-");
    return reply;
  };
  REQUIRE(deliver());
  CHECK(model() == whole);
  CHECK(count("PUT /bkt/run/model") == 2);
}

TEST_CASE_METHOD(Pods, "the same of one that answers other tags, when another pod has written there") {
  bool over = false;
  fault = [this, over](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
    if (asked.request.method != "PUT" && asked.query("list-type") != "2") return std::nullopt;
    auto reply = answer(asked);
    for (auto at = reply.pieces.front().bytes.find("<ETag>"); at != std::string::npos; at = reply.pieces.front().bytes.find("<ETag>", at + 1))
      reply.pieces.front().bytes.replace(at + 6, 4, "odd-");
    if (asked.line().starts_with("PUT /bkt/run/model/common") && !std::exchange(over, true)) other_delivers();
    return reply;
  };
  REQUIRE(deliver());
  CHECK(model() == whole);
}

TEST_CASE_METHOD(Pods, "a pod that finds its follower's model, and the job's list gone, puts nothing there") {
  other_delivers();
  const auto before = objects;
  const auto done = deliver();
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Contains("another pod of this job has delivered to s3://bkt/run/model"));
  CHECK(objects == before);
}

TEST_CASE_METHOD(Pods, "the model of a run before is replaced, whether its list is there or not") {
  objects["run/model/common"] = "before";
  marks["run/model/common"] = GENERATE("train.0", "train.10", "");
  REQUIRE(deliver());
  CHECK(objects["run/model/common"] == "one");
}
