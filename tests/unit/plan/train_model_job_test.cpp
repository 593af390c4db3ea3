// What a plan has for the calls of the component "Train model job".
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "job_types/job_type.h"
#include "plan/plan.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

namespace {

const StoreAccess store{"http://seaweedfs.kubeflow:9000", "minio", true, "keys", "accesskey", "secretkey"};

struct Call {
  Request request;
  DataFacts facts;

  Call() {
    request.train_specification = "inputs: [{name: data}]\nimplementation: {container: {image: i, command: [train, {inputPath: data}]}}";
    request.inputs.push_back({.name = "train_dataset_dir", .path = "/tmp/inputs/data", .uri = "", .type = ""});
    request.train_parameters = {{"data", "train_dataset_dir"}};
    request.run_id = "run-1";
    request.as_train_model_job = true;
    facts.agent_image = "trainstep:1";
    facts.folder = JobFolder{"s3://mlpipeline/jobs", store};
  }
  [[nodiscard]] Plan planned() const {
    auto plan = make_plan(request, job_types::traits());
    REQUIRE(plan);
    return std::move(*plan);
  }
  [[nodiscard]] Plan routed() const {
    auto plan = planned();
    REQUIRE(route_data(plan, facts));
    return plan;
  }
};

std::optional<Json> variable(const Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.environment, name, &EnvironmentVariable::name);
  return found == plan.environment.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace

TEST_CASE("a call of Train model job has the variables of TensorBoard, also when there is no address") {
  Call call;
  CHECK(variable(call.planned(), "TENSORBOARD_S3_ADDRESS") == Json(""));
  call.request.as_train_model_job = false;
  CHECK_FALSE(variable(call.planned(), "TENSORBOARD_S3_ADDRESS"));
}

TEST_CASE("variables that the call sets itself take precedence over the store's") {
  Call call;
  call.request.job_options = {{"environment", {{"S3_ENDPOINT", "mine"}}}};
  const auto plan = call.routed();
  CHECK(variable(plan, "S3_ENDPOINT") == Json("mine"));
  CHECK(variable(plan, "AWS_S3_SIGNATURE_VERSION") == Json("s3v4"));
}

TEST_CASE("data that goes through a bucket is on a claim of the job, below a folder with the job's name") {
  Call call;
  const auto plan = call.routed();
  CHECK(plan.pvc_name == plan.job_name + "-data");
  CHECK(plan.claim_is_jobs);
  REQUIRE(plan.data.task.inputs.size() == 1);
  CHECK(plan.data.task.inputs.front().path == "/train/" + plan.job_name + "/inputs/data");
  call.request.as_train_model_job = false;
  CHECK(call.routed().pvc_name.empty());
}

TEST_CASE("checkpoints on a claim that goes with the job are kept in the bucket") {
  Call call;
  call.request.job_options = {{"checkpoint_dir", "/train/saved"}};
  CHECK(call.routed().data.task.checkpoints.to.uri.ends_with("/checkpoints"));
  call.request.pvc_name = "mine";
  CHECK(call.routed().data.task.checkpoints.to.uri.empty());
}

TEST_CASE("a folder is lacking where files of the step or checkpoints have no other way") {
  Call call;
  CHECK_FALSE(lacks_folder(call.planned(), call.facts));
  call.facts.folder.reset();
  CHECK(lacks_folder(call.planned(), call.facts));
  call.facts.mounts = {{"disk", "/tmp/inputs", "", false}};
  CHECK_FALSE(lacks_folder(call.planned(), call.facts));
  call.request.job_options = {{"checkpoint_dir", "/saved"}};
  CHECK(lacks_folder(call.planned(), call.facts));
}
