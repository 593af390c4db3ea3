// What the step writes, the agent reads; what it cannot have written, the agent refuses.
// SPDX-License-Identifier: Apache-2.0
#include "plan/task.h"

#include <string>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using Catch::Matchers::Contains;

namespace {

Task example() {
  Task task;
  task.job = "digits-0123456789";
  task.attempt = "00ff";
  task.stores = {{"http://seaweedfs.kubeflow:9000", "minio", true, "/ca.pem", "/trainstep/keys/0/access_key", "/trainstep/keys/0/secret_key"},
                 {"https://s3.amazonaws.com", "eu-west-1", false, "", "", "", "/trainstep/keys/1/signing_keys"}};
  task.inputs = {{"data", "/train/inputs/data", {"s3://b/data", 1, ""}}, {"more", "/train/inputs/more", {"minio://m/more", 0, ""}}};
  task.outputs = {{"model", spec::Type::artifact, "system.Model", "/trainstep/outputs/model/data", "", {"s3://b/model", 1, ""}},
                  {"on_claim", spec::Type::artifact, "Model", "/trainstep/outputs/on_claim/m", "/mnt/trainstep/0/run", {}, true},
                  {"accuracy", spec::Type::number, "Float", "/trainstep/outputs/accuracy/data", "", {}}};
  task.executor_output_file = "/trainstep/outputs/executor_output.json";
  task.record = {"s3://b/.trainstep/digits/finished.json", 1, ""};
  task.finishing_limit = std::chrono::minutes(2);
  task.lease = {std::chrono::hours(1), std::chrono::seconds(7), {"s3://b/jobs/1/inputs", 0, ""}};
  return task;
}

Task round_trip(const Task& task) {
  const auto json = parse_json(to_text(to_json(task)), "task");
  REQUIRE(json);
  auto read = read_task(*json);
  if (!read) FAIL(read.error().message);
  return std::move(*read);
}

bool same(const TaskPlace& a, const TaskPlace& b) { return a.uri == b.uri && a.store == b.store && a.path == b.path; }

void refuse(const Json& json, const std::string& words) {
  CAPTURE(to_text(json));
  const auto task = read_task(json);
  REQUIRE_FALSE(task);
  CHECK(task.error().kind == ErrorKind::input);
  CHECK_THAT(task.error().message, Contains("task") && Contains(words));
}

}  // namespace

TEST_CASE("a task survives a round trip through its text") {
  const auto task = example();
  const auto read = round_trip(task);
  CHECK(read.job == task.job);
  CHECK(read.attempt == task.attempt);
  CHECK(read.lease.length == task.lease.length);
  CHECK(read.lease.grace == task.lease.grace);
  CHECK(read.lease.inputs.uri == task.lease.inputs.uri);
  REQUIRE(read.stores.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read.stores[i].endpoint == task.stores[i].endpoint);
    CHECK(read.stores[i].region == task.stores[i].region);
    CHECK(read.stores[i].path_style == task.stores[i].path_style);
    CHECK(read.stores[i].ca_file == task.stores[i].ca_file);
    CHECK(read.stores[i].access_key_file == task.stores[i].access_key_file);
    CHECK(read.stores[i].secret_key_file == task.stores[i].secret_key_file);
    CHECK(read.stores[i].signing_keys_file == task.stores[i].signing_keys_file);
  }
  REQUIRE(read.inputs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read.inputs[i].name == task.inputs[i].name);
    CHECK(read.inputs[i].path == task.inputs[i].path);
    CHECK(same(read.inputs[i].from, task.inputs[i].from));
  }
  REQUIRE(read.outputs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(read.outputs[i].name == task.outputs[i].name);
    CHECK(read.outputs[i].type == task.outputs[i].type);
    CHECK(read.outputs[i].declared == task.outputs[i].declared);
    CHECK(read.outputs[i].path == task.outputs[i].path);
    CHECK(read.outputs[i].folder_is == task.outputs[i].folder_is);
    CHECK(same(read.outputs[i].to, task.outputs[i].to));
    CHECK(read.outputs[i].file == task.outputs[i].file);
  }
  CHECK(read.executor_output_file == task.executor_output_file);
  CHECK(same(read.record, task.record));
  CHECK(read.finishing_limit == task.finishing_limit);
}

TEST_CASE("every type of value survives a round trip") {
  using enum spec::Type;
  for (const auto type : {string, integer, number, boolean, list, object, any, artifact}) {
    auto task = example();
    task.outputs.front().type = type;
    CHECK(round_trip(task).outputs.front().type == type);
  }
}

TEST_CASE("a record on a claim, and none, survive a round trip") {
  auto task = example();
  task.record = {"", 0, "/mnt/trainstep/0/.trainstep-digits.json"};
  CHECK(same(round_trip(task).record, task.record));
  task.record = {};
  CHECK_FALSE(round_trip(task).record.somewhere());
}

TEST_CASE("non-ASCII names and quotes survive a round trip") {
  auto task = example();
  task.outputs.front().name = "modèle \"final\" $(HOME)\n";
  CHECK(round_trip(task).outputs.front().name == task.outputs.front().name);
}

TEST_CASE("every finishing limit that a user may set is one that the agent takes") {
  for (const Duration limit : {Duration(0), Duration(1), Duration(1'500), Duration(std::chrono::hours(24 * 30))}) {
    auto task = example();
    task.finishing_limit = limit;
    CHECK(round_trip(task).finishing_limit == std::chrono::ceil<std::chrono::seconds>(limit));
  }
}

TEST_CASE("unknown members of a task are ignored") {
  auto json = to_json(example());
  json["later"] = {{"a", 1}};
  json["stores"][0]["later"] = true;
  json["inputs"][0]["later"] = Json::array();
  json["outputs"][0]["later"] = "x";
  json["record"]["later"] = nullptr;
  CHECK(read_task(json));
}

TEST_CASE("a task without anything is a task: nothing is to be moved") {
  const auto task = read_task(Json::object());
  REQUIRE(task);
  CHECK(task->inputs.empty());
  CHECK(task->outputs.empty());
  CHECK_FALSE(task->record.somewhere());
  CHECK(task->finishing_limit == std::chrono::minutes(30));
}

TEST_CASE("a wrong shape is an input error with its location") {
  const auto with = [](const char* pointer, Json value) {
    auto json = to_json(example());
    json[Json::json_pointer(pointer)] = std::move(value);
    return json;
  };
  refuse(Json::array(), "");
  refuse("text", "");
  refuse(with("/job", Json::array()), "job");
  refuse(with("/stores", "none"), "stores");
  refuse(with("/stores/0", 5), "store");
  refuse(with("/stores/0/path_style", "perhaps"), "path_style");
  refuse(with("/inputs", Json::object()), "inputs");
  refuse(with("/inputs/0", "x"), "input");
  refuse(with("/inputs/0/store", -1), "store");
  refuse(with("/inputs/0/store", "first"), "store");
  refuse(with("/outputs/0", Json::array()), "output");
  refuse(with("/outputs/0/type", "PICTURE"), "PICTURE");
  refuse(with("/outputs/0/path", {{"a", 1}}), "path");
  refuse(with("/record", "here"), "record");
  refuse(with("/record/uri", 5.5), "uri");
  refuse(with("/finishing_limit", "soon"), "finishing_limit");
}

TEST_CASE("an address in a store that is not listed is an error") {
  for (const auto* pointer : {"/inputs/0/store", "/outputs/0/store", "/record/store"}) {
    auto json = to_json(example());
    json[Json::json_pointer(pointer)] = 2;
    refuse(json, "stores");
  }
  auto json = to_json(example());
  json.erase("stores");
  refuse(json, "stores");
}

TEST_CASE("a Lease is renewed and read six times in its length, at most every 30 s and at least every 5 min") {
  using namespace std::chrono_literals;
  CHECK(TaskLease{30min}.interval() == 5min);
  CHECK(TaskLease{12min}.interval() == 2min);
  CHECK(TaskLease{shortest_lease}.interval() == 30s);
  CHECK(TaskLease{24h}.interval() == 5min);
  CHECK_FALSE(TaskLease{}.wanted());
}
