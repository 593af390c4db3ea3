// Where a job's data is, for `stop` and for the attempt that adopts it.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_data.h"

#include "cluster/ownership.h"
#include "plan/task.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;

namespace {

using Places = std::vector<std::string>;

Json job(const plan::Task& task, const Json& annotations = Json::object()) {
  const Json variables = {{{"name", "OTHER"}, {"value", "s3://no/task"}}, {{"name", plan::task_variable}, {"value", to_text(plan::to_json(task))}}};
  const Json pod = {{"spec", {{"containers", {{{"name", "pytorch"}, {"env", variables}}}}}}};
  return {{"metadata", {{"name", "train-1"}, {"annotations", annotations}}}, {"spec", {{"pytorchReplicaSpecs", {{"Master", {{"template", pod}}}}}}}};
}

plan::Task task(const std::string& record, const std::string& output) {
  plan::Task task;
  task.job = "train-1";
  task.stores.emplace_back().endpoint = "http://store:9000";
  task.record.uri = record;
  task.inputs.push_back({"data", "/trainstep/inputs/data", {"s3://bkt/jobs/train-1/inputs/data", 0, ""}});
  task.outputs.push_back({.name = "model", .type = spec::Type::artifact, .declared = "Model", .path = "/m", .folder_is = "", .to = {output, 0, ""}});
  return task;
}

}  // namespace

TEST_CASE("a job's folder, and what its pods delivered elsewhere, are reported as left") {
  CHECK(data_left_of(job(task("s3://bkt/jobs/train-1/finished.json", "s3://bkt/jobs/train-1/outputs/model"))) == Places{"s3://bkt/jobs/train-1"});
  CHECK(data_left_of(job(task("s3://bkt/run/.trainstep/train-1/finished.json", "s3://bkt/run/model"))) ==
        Places{"s3://bkt/run/.trainstep/train-1", "s3://bkt/run/model"});
}

TEST_CASE("the checkpoints of an indexed job's pods are in one folder") {
  auto kept = task("", "");
  kept.checkpoints = {"/saved", {"s3://bkt/jobs/train-1/checkpoints", 0, ""}};
  auto made = job(kept);
  CHECK(data_left_of(made) == Places{"s3://bkt/jobs/train-1/checkpoints"});
  made["spec"]["completionMode"] = "Indexed";
  CHECK(data_left_of(made) == Places{"s3://bkt/jobs/train-1"});
}

TEST_CASE("a model reported by its step is not reported as left") {
  const auto told = task("s3://bkt/run/.trainstep/train-1/finished.json", "s3://bkt/run/model");
  CHECK(data_left_of(job(told, {{outcome_annotation, "succeeded"}})) == Places{"s3://bkt/run/.trainstep/train-1"});
  CHECK(data_left_of(job(told, {{outcome_annotation, "succeeded"}, {data_annotation, "gone"}})).empty());
}

TEST_CASE("a job without data in a store leaves nothing, however malformed it is") {
  CHECK(data_left_of(job(task("", ""))).empty());
  CHECK(data_left_of(Json{{"metadata", {{"name", "train-1"}}}}).empty());
  CHECK(data_left_of(Json{{"spec", {{"env", {{{"name", plan::task_variable}, {"value", "{"}}}}}}}).empty());
}

TEST_CASE("a job whose data uses another folder or store than the plan's is another job") {
  plan::Plan plan;
  plan.data.prefix = {"s3://bkt/jobs/train-1", 0, ""};
  plan.data.task = task("s3://bkt/jobs/train-1/finished.json", "s3://bkt/jobs/train-1/outputs/model");
  CHECK_FALSE(has_data_elsewhere(job(plan.data.task), plan));
  CHECK_FALSE(has_data_elsewhere(Json{{"metadata", {{"name", "train-1"}}}}, plan));
  auto there = plan.data.task;
  SECTION("another store") { there.stores.front().endpoint = "http://other:9000"; }
  SECTION("another place of the record") { there.record.uri = "s3://bkt/old/train-1/finished.json"; }
  SECTION("another place of an input") { there.inputs.front().from.uri = "s3://bkt/old/train-1/inputs/data"; }
  SECTION("another place of an output") { there.outputs.front().to.uri = "s3://bkt/old/train-1/outputs/model"; }
  SECTION("no such input") { there.inputs.clear(); }
  CHECK(has_data_elsewhere(job(there), plan));
}

TEST_CASE("data outside the job's prefix is independent of the prefix") {
  plan::Plan plan;
  plan.data.task = task("s3://bkt/run/.trainstep/train-1/finished.json", "minio://bkt/run/model");
  auto there = plan.data.task;
  there.outputs.front().to.uri = "s3://bkt/run/model";
  CHECK_FALSE(has_data_elsewhere(job(there), plan));
  plan.data.prefix = {"s3://bkt/jobs/train-1", 0, ""};
  plan.data.task.inputs.clear();
  CHECK_FALSE(has_data_elsewhere(job(there), plan));
}

TEST_CASE("a job records where its data is, and the Secrets of the credentials") {
  auto kept = task("s3://bkt/jobs/train-1/finished.json", "s3://bkt/run/model");
  kept.stores.front().access_key_file = kept.stores.front().secret_key_file = "/trainstep/keys/0/key";
  kept.stores.push_back({"http://other:9000", "eu-1", false, "", "", ""});
  kept.outputs.front().to.store = 1;
  auto made = job(kept);
  const Json items = {{{"key", "ak"}, {"path", "access_key"}}, {{"key", "sk"}, {"path", "secret_key"}}};
  made["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["volumes"] = {
      {{"name", "trainstep-keys-0"}, {"secret", {{"secretName", "keys"}, {"items", items}}}}};
  const auto route = route_of(made);
  REQUIRE(route.folder);
  CHECK(route.folder->uri == "s3://bkt/jobs");
  CHECK(route.folder->store == plan::StoreAccess{"http://store:9000", "us-east-1", true, "keys", "ak", "sk"});
  CHECK(route.stores.at("s3://bkt/run/model") == plan::StoreAccess{"http://other:9000", "eu-1", false, "", "", ""});
  made["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["volumes"][0]["secret"]["items"][1]["path"] = "signing_keys";
  CHECK(route_of(made).folder->store == plan::StoreAccess{"http://store:9000", "us-east-1", true, "keys", "ak", "", "sk"});
}

TEST_CASE("a job without data in a folder records none, however malformed it is") {
  CHECK_FALSE(route_of(job(task("s3://bkt/run/.trainstep/train-1/finished.json", "s3://bkt/run/model"))).folder);
  CHECK_FALSE(route_of(job(task("", ""))).folder);
  CHECK_FALSE(route_of(Json{{"metadata", {{"name", "train-1"}}}}).folder);
  auto made = job(task("s3://bkt/jobs/train-1/finished.json", ""));
  made["spec"]["volumes"] = {{{"name", "trainstep-keys-0"}, {"secret", 3}}};
  REQUIRE(route_of(made).folder);
  CHECK(route_of(made).folder->store.secret.empty());
}
