// Whether the outputs can be delivered, asked before the training.
// SPDX-License-Identifier: Apache-2.0
#include "agent/probe.h"

#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "support/catch.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace trainstep::staging::test;
using Catch::Matchers::Contains;

namespace {

struct Probed : StoreOfPod {
  PollLoop real;
  plan::Task task;
  std::vector<std::string> told;

  Probed() {
    task.record = {"s3://bkt/run/.trainstep/digits/finished.json", 0, ""};
    output("metrics", "s3://bkt/run/.trainstep/digits/outputs/metrics");
    output("model", "s3://bkt/models/m");
    pump();
  }
  void output(const std::string& name, const std::string& uri) {
    auto& made = task.outputs.emplace_back();
    made.name = name;
    made.to = {uri, 0, ""};
  }
  // Waiting on the real loop runs the store's virtual time.
  void pump() {
    real.post([this] {
      loop.run();
      pump();
    });
  }
  Result<void> try_it() {
    return probe(real, *stores, task, [this](const std::string& line) { told.push_back(line); });
  }
  // As a policy does: those requests whose line begins so and holds `what`.
  void deny(const std::string& beginning, const std::string& what, int status = 403, const std::string& code = "AccessDenied") {
    fault = [=](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (!asked.line().starts_with(beginning) || asked.line().find(what) == std::string::npos) return std::nullopt;
      return refusal(status, code);
    };
  }
};

}  // namespace

TEST_CASE_METHOD(Probed, "whether outputs can be delivered is tried before the training, and leaves nothing") {
  CHECK(try_it());
  CHECK(objects.empty());
  CHECK(uploads.empty());
  CHECK(told.empty());
  CHECK(count("PUT /bkt/run/.trainstep/digits/finished.json.probe") == 1);
  CHECK(count("POST /bkt/models/m/.trainstep.probe") == 1);
  CHECK(count("POST") == 1);  // what lies beside the record needs no try of its own
  CHECK(count("GET") == 2);
}

TEST_CASE_METHOD(Probed, "a right that the delivery needs and the keys have not is named before the training") {
  const auto [beginning, what, said] = GENERATE(table<std::string, std::string, std::string>({
      {"PUT", "finished.json.probe", "cannot deliver outputs: "},
      {"GET", "outputs/metrics", "cannot deliver outputs: metrics: "},
      {"GET", "models/m", "cannot deliver outputs: model: "},
      {"POST", "models/m", "cannot deliver outputs: model: "},
  }));
  CAPTURE(beginning, what);
  deny(beginning, what);
  const auto probed = try_it();
  REQUIRE_FALSE(probed);
  CHECK(probed.error().kind == ErrorKind::denied);
  CHECK_THAT(probed.error().message, Contains(said) && Contains("AccessDenied"));
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Probed, "without outputs in a store the probe sends no request") {
  task.record = {};
  for (auto& output : task.outputs) output.to = {};
  CHECK(try_it());
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Probed, "the outputs are probed even if the record is on a claim") {
  task.record = {"", 0, in_pod("claim/record.json")};
  deny("POST", "models/m");
  CHECK_FALSE(try_it());
}

TEST_CASE_METHOD(Probed, "keys that may write to an output's address only, or to a whole bucket, will do") {
  SECTION("the address itself") {
    deny("POST", "models/m/");
    CHECK(try_it());
    CHECK(count("POST /bkt/models/m ") == 1);
  }
  SECTION("bucket") {
    output("all", "s3://whole");
    CHECK(try_it());
    CHECK(count("POST /whole/.trainstep.probe") == 1);
  }
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Probed, "operations that a store does not support do not fail the probe") {
  SECTION("no uploads in parts") { deny("POST", "models/m", 501, "NotImplemented"); }
  SECTION("uploads cannot be aborted") { deny("DELETE", "models/m"); }
  CHECK(try_it());
  CHECK(told.empty());
}

TEST_CASE_METHOD(Probed, "credentials without delete permission do not fail the probe, and the leftover object is reported") {
  deny("DELETE", ".probe");
  CHECK(try_it());
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("finished.json.probe remains until the step removes it") && Contains("AccessDenied"));
}
