// The record of a finished training: who starts again and finds it has nothing left to do.
// SPDX-License-Identifier: Apache-2.0
#include "agent/completion_record.h"

#include <functional>
#include <string>

#include "base/poll_loop.h"
#include "data/signature.h"
#include "support/catch.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace trainstep::staging::test;
using Catch::Matchers::Contains;

namespace {

struct Pod : StoreOfPod {
  PollLoop real;
  plan::Task task;

  Pod() {
    task.attempt = "00ff";
    task.record = {"s3://bkt/run/.trainstep/digits/finished.json", 0, ""};
    pump();
  }
  // Waiting on the real loop runs the store's virtual time.
  void pump() {
    real.post([this] {
      loop.run();
      pump();
    });
  }
  [[nodiscard]] static result::PodReport report(const std::string& attempt = "00ff") {
    result::PodReport made;
    made.attempt = attempt;
    made.verdict_class = result::VerdictClass::succeeded;
    made.primary = true;
    made.outputs.push_back({.name = "accuracy", .artifact = false, .present = true, .value = 0.5, .uri = {}});
    return made;
  }
  void on_claim() { task.record = {"", 0, in_pod("claim/run/.trainstep-digits.json")}; }

  std::optional<result::PodReport> find() {
    auto found = find_record(real, *stores, task);
    if (!found) FAIL(found.error().message);
    return std::move(*found);
  }
  void write_it(const result::PodReport& made) {
    if (const auto written = write_record(real, *stores, task, made); !written) FAIL(written.error().message);
  }
};

constexpr auto key = "run/.trainstep/digits/finished.json";

}  // namespace

TEST_CASE_METHOD(Pod, "a record is found again, in a store and on a claim") {
  SECTION("store") {}
  SECTION("claim") { on_claim(); }
  CHECK_FALSE(find());
  write_it(report());
  const auto found = find();
  REQUIRE(found);
  CHECK(found->verdict_class == result::VerdictClass::succeeded);
  CHECK(found->outputs.front().value == Json(0.5));
  CHECK(objects.contains(key) == task.record.in_store());
}

TEST_CASE_METHOD(Pod, "the record of another attempt is ignored and replaced") {
  SECTION("store") {}
  SECTION("claim") { on_claim(); }
  write_it(report("another"));
  CHECK_FALSE(find());
  write_it(report());
  CHECK(find());
}

TEST_CASE_METHOD(Pod, "contents that are not a record are ignored") {
  for (const auto* text : {"", "{", "[]", R"({"trainstep_report": 2, "class": "succeeded", "attempt": "00ff"})"}) {
    objects[key] = text;
    CHECK_FALSE(find());
  }
}

TEST_CASE_METHOD(Pod, "a record is valid as long as its delivered output exists") {
  auto made = report();
  made.outputs.push_back({.name = "model", .artifact = true, .present = true, .value = {}, .uri = {}});
  made.outputs.push_back({.name = "none", .artifact = true, .present = false, .value = {}, .uri = {}});
  plan::TaskOutput model{
      .name = "model", .type = spec::Type::artifact, .declared = "", .path = in_pod("outputs/model/final"), .folder_is = {}, .to = {}};
  SECTION("a tree in a store") {
    model.to = {"s3://bkt/run/model", 0, ""};
    objects["run/model/weights"] = "w";
  }
  SECTION("a file in a store") {
    model.to = {"s3://bkt/run/model", 0, ""};
    objects["run/model"] = "w";
  }
  SECTION("a tree on a claim") {
    model.folder_is = in_pod("claim/run");
    write(in_pod("claim/run/final/weights"), "w");
    REQUIRE(trainstep::sign(OutputPaths::of(in_pod("claim/run/final")), task.attempt, std::nullopt).has_value());
  }
  task.outputs.push_back(model);
  task.outputs.push_back(
      {.name = "none", .type = spec::Type::artifact, .declared = "", .path = "", .folder_is = {}, .to = {"s3://bkt/run/none", 0, ""}});
  write_it(made);
  CHECK(find());
  for (const auto* gone : {"run/model/weights", "run/model"}) objects.erase(gone);
  objects["run/models/x"] = "another's";
  std::filesystem::remove_all(in_pod("claim/run/final"));
  CHECK_FALSE(find());
  if (!model.to.in_store()) return;
  refuse("HEAD", 403, "AccessDenied");
  CHECK(find());  // who may not look believes it
}

TEST_CASE_METHOD(Pod, "a record is invalid if another job's output is on the claim") {
  auto made = report();
  made.outputs.push_back({.name = "model", .artifact = true, .present = true, .value = {}, .uri = {}});
  task.outputs.push_back({.name = "model",
                          .type = spec::Type::artifact,
                          .declared = "",
                          .path = in_pod("outputs/model/final"),
                          .folder_is = in_pod("claim/run"),
                          .to = {}});
  write(in_pod("claim/run/final/weights"), "w");
  write_it(made);
  const std::string signer = GENERATE("00ff", "another");
  REQUIRE(trainstep::sign(OutputPaths::of(in_pod("claim/run/final")), signer, std::nullopt).has_value());
  CHECK(find().has_value() == (signer == task.attempt));
}

TEST_CASE_METHOD(Pod, "keys that may only write see no record; a store that cannot be asked is an error") {
  objects[key] = to_text(report());
  refuse("GET", 403, "AccessDenied");
  CHECK_FALSE(find());
  refuse("GET", 503, "SlowDown");
  const auto found = find_record(real, *stores, task);
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::unavailable);
}

TEST_CASE_METHOD(Pod, "without a location there is no record and no request") {
  task.record = {};
  CHECK_FALSE(find());
  write_it(report());
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Pod, "a record that cannot be written is an error") {
  SECTION("store") {
    refuse("PUT", 403, "AccessDenied");
    const auto written = write_record(real, *stores, task, report());
    REQUIRE_FALSE(written);
    CHECK(written.error().kind == ErrorKind::denied);
  }
  SECTION("claim") {
    on_claim();
    write(in_pod("claim/run"), "a file in the folder's place");
    CHECK_FALSE(write_record(real, *stores, task, report()));
  }
}
