// SPDX-License-Identifier: Apache-2.0
#include "step/unused_inputs.h"

#include "support/catch.h"

namespace trainstep::step {
namespace {

TEST_CASE("A path of the step that no parameter of the program uses is reported before the training") {
  plan::Request request;
  plan::Plan plan;
  CHECK(unused_inputs(request, plan).empty());
  request.inputs = {{"train_dataset_dir", "/data", "", "", {}}, {"validation_dataset_dir", "/more", "", "", {}}};
  plan.binding.inputs = {{"data", std::nullopt, request.inputs[1], true}, {"epochs", Json(3), std::nullopt, false}};
  const auto notices = unused_inputs(request, plan);
  REQUIRE(notices.size() == 1);
  CHECK(notices[0] ==
        "train_dataset_dir: not used, because no path parameter of the program has this name; to use it for another one, write {\"INPUT\": "
        "\"train_dataset_dir\"} into train_parameters");
}

TEST_CASE("Options without effect are reported: component without a pipeline, logs of replicas that only other job types have") {
  plan::Request request;
  plan::Plan plan;
  plan.job_type = "Job";
  plan.options.logs = {"primary", "main", "worker-0"};
  plan.options.component = "train";
  CHECK(unused_inputs(request, plan) ==
        std::vector<std::string>{"job_options.component: not used, because train_specification has only one program; omit it",
                                 "job_options.logs: this Job has no worker-0; it has 1 Main"});
  request.is_command = true;
  plan.options.logs.clear();
  CHECK(unused_inputs(request, plan) == std::vector<std::string>{"job_options.component: not used, because a command has only one program; omit it"});
  plan.program.dialect = spec::Dialect::v2;
  CHECK(unused_inputs(request, plan).empty());
}

}  // namespace
}  // namespace trainstep::step
