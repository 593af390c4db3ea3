// Any bytes as job_options, as their patch, as distribution_specification and as KFP's task_config, to the manifest that is sent.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/ownership.h"
#include "job_types/render.h"
#include "step/task_config.h"

using namespace trainstep;

namespace {

cluster::Facts facts() {
  cluster::Facts facts;
  facts.pipeline_run = "run";
  facts.workflow = {};
  facts.workflow.emplace();
  facts.workflow->name = "digits";
  return facts;
}

void check(plan::Request request, std::string_view type) {
  if (request.distribution_specification.is_object() && !request.distribution_specification.contains("distribution_type"))
    request.distribution_specification["distribution_type"] = type;
  const auto plan = plan::make_plan(request, job_types::traits());
  if (!plan) {
    if (plan.error().message.empty() || plan.error().kind == ErrorKind::internal) __builtin_trap();
    return;
  }
  auto manifest = job_types::render(*plan, "");
  if (!manifest) {
    if (manifest.error().message.empty() || manifest.error().kind == ErrorKind::internal) __builtin_trap();
    return;
  }
  auto object = manifest->json();
  cluster::stamp(object, facts(), "default", "attempt");
  if (object["metadata"]["annotations"][std::string(cluster::attempt_annotation)] != "attempt") __builtin_trap();
  // A volume without a source is a folder that ends with its pod: only who asks for it gets one, but for our own.
  static_cast<void>(job_types::to_yaml_explained(*manifest));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!json) return 0;
  plan::Request request;
  request.train_specification = R"({"image": "a", "command": ["b"]})";
  request.run_id = "run";
  for (const std::string_view type : {"Job", "PyTorch", "MPI", "TF"}) {
    auto options = request, patched = request, distributed = request, configured = request;
    options.job_options = *json;
    check(options, type);
    patched.job_options["patch"] = *json;
    check(patched, type);
    distributed.distribution_specification = *json;
    check(distributed, type);
    if (step::apply_task_config(*json, configured)) check(configured, type);
  }
  return 0;
}
