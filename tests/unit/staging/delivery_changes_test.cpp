// What others do to an output, and to its place in the store, while it is delivered.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "objectstore/local_tree.h"
#include "result/verdict.h"
#include "staging/delivery.h"
#include "support/catch.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::staging;
using namespace trainstep::staging::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct Delivering : StoreOfPod {
  std::vector<std::string> told;
  std::string model = in_pod("outputs/model/data");
  std::vector<plan::TaskOutput> outputs{{"model", spec::Type::artifact, "", model, "", {"s3://bkt/run/model", 0, ""}}};
  DeliveryOptions options{.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""}, .mark = "train.1"};
  std::optional<Result<Staged>> result;

  StagingSink sink() {
    return {[this](const std::string& line) { told.push_back(line); }, [this](Result<Staged> staged) { result = std::move(staged); }};
  }
  Result<Staged> deliver(Duration limit = 30min) {
    result.reset();
    const Delivery delivery(*stores, outputs, limit, sink(), options);
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  void program_ends() { options.at_end["model"] = objectstore::read_tree(model)->files; }
  // Before the store answers the first request whose line holds `part`.
  void at(const std::string& part, const std::function<void()>& does) {
    fault = [=, done = false](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
      if (asked.line().find(part) != std::string::npos && !std::exchange(done, true)) does();
      return std::nullopt;
    };
  }
  // Without the list of what was put there.
  [[nodiscard]] std::map<std::string, std::string> others_see() {
    auto seen = objects;
    seen.erase("run/.trainstep/job/outputs.json");
    return seen;
  }
};

}  // namespace

TEST_CASE_METHOD(Delivering, "an output changed during its delivery is not delivered, however it was changed") {
  const auto [what, does] = GENERATE(table<std::string, std::function<void(const std::string&)>>({
      {"large was removed", [](const std::string& file) { fs::remove(file); }},
      {"large changed from 20971520 to 1000000 bytes", [](const std::string& file) { fs::resize_file(file, 1'000'000); }},
      {"large changed from 20971520 to 20971521 bytes", [](const std::string& file) { fs::resize_file(file, (20 << 20) + 1); }},
      {"large was rewritten", [](const std::string& file) { StoreOfPod::write(file, std::string(20 << 20, 'y')); }},
      {"new was added", [](const std::string& file) { StoreOfPod::write(fs::path(file).parent_path() / "new", "n"); }},
  }));
  const auto when = GENERATE(as<std::string>(), "PUT /bkt/run/model/large partNumber=2", "GET /bkt encoding-type");
  const bool harmless = when.starts_with("PUT") && what.starts_with("new");  // it was never to be delivered
  INFO(what << " at " << when);
  objects = {{"run/model/note", "of others"}};
  write(model + "/large", std::string(20 << 20, 'x'));
  write(model + "/small", "s");
  program_ends();
  at(when, [&] { does(model + "/large"); });
  const auto staged = deliver();
  REQUIRE(staged.has_value() == harmless);
  if (harmless) {
    CHECK(others_see().size() == 3);
    return;
  }
  CHECK(staged.error().kind == ErrorKind::conflict);
  CHECK_THAT(staged.error().message, Contains("output model: " + what + " after the program had ended"));
  CHECK(others_see() == std::map<std::string, std::string>{{"run/model/note", "of others"}});
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Delivering, "an output that is a file, or whose files are all gone, is not delivered as empty") {
  const bool file = GENERATE(true, false);
  write(file ? model : model + "/w", "w");
  program_ends();
  fs::remove(file ? model : model + "/w");
  const auto staged = deliver();
  REQUIRE_FALSE(staged);
  CHECK_THAT(staged.error().message, Contains(file ? "the file was removed" : "w was removed"));
  CHECK(others_see().empty());
}

TEST_CASE_METHOD(Delivering, "what stays as it was is delivered after any number of tries") {
  write(model + "/w", "w");
  program_ends();
  refuse("PUT /bkt/run/model", 403, "AccessDenied", 6);
  REQUIRE(deliver());
  CHECK(others_see() == std::map<std::string, std::string>{{"run/model/w", "w"}});
}

TEST_CASE_METHOD(Delivering, "objects that another job put where a killed attempt had, or was about to, are kept and reported") {
  const bool large = GENERATE(false, true);
  write(model + "/shard-1", large ? std::string(20 << 20, 'x') : "1");
  write(model + "/shard-2", "2");
  write(model + "/shard-3", "3");
  refuse("PUT /bkt/run/model/shard-2", 403, "AccessDenied");
  REQUIRE_FALSE(deliver(0s));
  fault = nullptr;
  objects["run/model/shard-1"] = "B1";
  objects["run/model/shard-2"] = "B2";
  marks["run/model/shard-1"] = GENERATE("", "train.2");
  REQUIRE(objects.contains("run/model/shard-3"));
  told.clear();
  fs::remove_all(model);
  write(model + "/only", "o");
  REQUIRE(deliver());
  CHECK(others_see() == std::map<std::string, std::string>{{"run/model/only", "o"}, {"run/model/shard-1", "B1"}, {"run/model/shard-2", "B2"}});
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("output model: 2 objects, such as \"shard-1\", at s3://bkt/run/model are apparently not written by this job"));
}

TEST_CASE_METHOD(Delivering, "objects that a killed attempt uploaded in parts are removed like those uploaded in one request") {
  write(model + "/large", std::string(20 << 20, 'x'));
  write(model + "/small", "s");
  REQUIRE(deliver());
  fs::remove_all(model);
  write(model + "/only", "o");
  REQUIRE(deliver());
  CHECK(others_see() == std::map<std::string, std::string>{{"run/model/only", "o"}});
}

TEST_CASE_METHOD(Delivering, "what may not be looked at stays") {
  write(model + "/a", "1");
  REQUIRE(deliver());
  fs::remove_all(model);
  write(model + "/b", "2");
  refuse("HEAD", 403, "");
  REQUIRE(deliver());
  CHECK(others_see() == std::map<std::string, std::string>{{"run/model/a", "1"}, {"run/model/b", "2"}});
}

TEST_CASE_METHOD(Delivering, "a stopped delivery reverts nothing that another job has put there in the meantime") {
  write(model + "/a", "1");
  write(model + "/large", std::string(20 << 20, 'x'));
  fault = [](const FakeTransport::Asked& asked) { return asked.query("partNumber") == "2" ? std::optional(Reply::silent()) : std::nullopt; };
  Delivery delivery(*stores, outputs, 30min, sink(), options);
  loop.run(3s);
  REQUIRE(objects.contains("run/model/a"));
  objects["run/model/a"] = "B";
  marks.erase("run/model/a");
  delivery.stop({ErrorKind::cancelled, "stopped"});
  loop.run(25s);
  REQUIRE(result);
  CHECK(objects["run/model/a"] == "B");
}

TEST_CASE_METHOD(Delivering, "a store that cannot list multipart uploads does not delay a delivery for long, and this is reported") {
  stores->on_waiting([this](const std::string& line) { told.push_back(line); });
  for (const auto* name : {"/a", "/b", "/c"}) write(model + name, std::string(9 << 20, 'x'));
  fault = [](const FakeTransport::Asked& asked) {
    return asked.line().find("uploads=") != std::string::npos && asked.request.method == "GET" ? std::optional(refusal(500, "InternalError"))
                                                                                               : std::nullopt;
  };
  const auto limit = GENERATE(as<Duration>(), 30min, 8s);
  const auto began = loop.now();
  Time ended{};
  const Delivery delivery(*stores, outputs, limit,
                          {[this](const std::string& line) { told.push_back(line); },
                           [&](Result<Staged> staged) {
                             result = std::move(staged);
                             ended = loop.now();
                           }},
                          options);
  loop.run();
  REQUIRE(result);
  CHECK(*result);
  CHECK(others_see().size() == 3);
  CHECK(ended - began < (limit == 8s ? Duration(30s) : Duration(4min)));
  REQUIRE(told.size() >= 2);
  CHECK_THAT(told.front(), Contains("waiting for http://store:9000: list the uploads of"));
  CHECK_THAT(told.back(), Contains("incomplete uploads of an earlier attempt may remain there"));
}

TEST_CASE_METHOD(Delivering, "a storm of errors lasts no longer than the limit of the delivery") {
  write(model + "/large", std::string(20 << 20, 'x'));
  write(model + "/small", "s");
  const auto kind = GENERATE(as<std::string>(), "PUT /bkt/run/model", "PUT", "", "GET");
  fault = [kind](const FakeTransport::Asked& asked) {
    return asked.line().starts_with(kind) ? std::optional(refusal(503, "SlowDown")) : std::nullopt;
  };
  const auto began = loop.now();
  const auto staged = deliver(6s);
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::unavailable);
  CHECK(loop.now() - began < 40s);
}

TEST_CASE_METHOD(Delivering, "a file whose name no object can have fails the delivery at once, before anything is put") {
  write(model + "/weights", "w");
  write(model + "/step-\xff", "odd");
  program_ends();
  const auto staged = deliver();
  REQUIRE_FALSE(staged);
  CHECK(result::lost_outputs(staged.error()).verdict_class == result::VerdictClass::system);
  CHECK_THAT(staged.error().message, Contains("output model") && Contains("is not a valid object name: not UTF-8"));
  CHECK(count("PUT") == 0);
  CHECK(told.empty());  // of further tries
}
