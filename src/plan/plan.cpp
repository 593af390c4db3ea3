// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "data/digest.h"
#include "data/fields.h"
#include "data/secrets.h"
#include "data/tree.h"
#include "plan/exec_size.h"
#include "plan/memory.h"
#include "plan/mounts.h"
#include "plan/names.h"
#include "plan/pod_options.h"
#include "spec/read_program.h"

namespace trainstep::plan {
namespace {

using OptionalQuantity = std::optional<Sourced<Quantity>>;

OptionalQuantity first(std::initializer_list<OptionalQuantity> candidates) {
  for (const auto& candidate : candidates)
    if (candidate) return candidate;
  return std::nullopt;
}

OptionalQuantity sourced(const std::optional<Quantity>& quantity, std::string_view key) {
  if (!quantity) return std::nullopt;
  return Sourced<Quantity>{*quantity, fmt::format("distribution_specification.{}", key)};
}

Result<OptionalQuantity> parsed(const std::string& text, std::string source,
                                Result<Quantity> (*read)(std::string_view, std::string_view) = parse_quantity) {
  if (text.empty()) return OptionalQuantity{};
  ASSIGN(auto quantity, read(text, source));
  return OptionalQuantity{Sourced<Quantity>{std::move(quantity), std::move(source)}};
}

Result<Sourced<int>> gpus_of(const Request& request, const Plan& plan) {
  if (plan.distribution.worker_gpus) return Sourced<int>{*plan.distribution.worker_gpus, "distribution_specification.worker_gpus"};
  if (!request.gpus.empty()) {
    ASSIGN(const auto count, parse_count(request.gpus, "gpus"));
    return Sourced<int>{static_cast<int>(count), "gpus"};
  }
  if (!plan.program.resources.gpus.empty()) {
    ASSIGN(const auto count, parse_count(plan.program.resources.gpus, "train_specification: accelerator count"));
    return Sourced<int>{static_cast<int>(count), "train_specification"};
  }
  return Sourced<int>{0, "default"};
}

// In order of precedence, a training replica's resources are the worker's, the step's cpus, memory and gpus, and the specification's own.
Result<void> size_replicas(const Request& request, Plan& plan) {
  const auto& d = plan.distribution;
  ASSIGN(const auto step_cpus, parsed(request.cpus, "cpus"));
  ASSIGN(const auto step_memory, parsed(request.memory, "memory", parse_memory));
  ASSIGN(const auto spec_cpus, parsed(plan.program.resources.cpus, "train_specification"));
  ASSIGN(const auto spec_memory, parsed(plan.program.resources.memory, "train_specification", parse_memory));
  plan.worker.cpus = first({sourced(d.worker_cpus, "worker_cpus"), step_cpus, spec_cpus});
  plan.worker.memory = first({sourced(d.worker_memory, "worker_memory"), step_memory, spec_memory});
  ASSIGN(plan.worker.gpus, gpus_of(request, plan));
  plan.launcher = {sourced(d.launcher_cpus, "launcher_cpus"), sourced(d.launcher_memory, "launcher_memory"), {0, "a launcher has no GPUs"}};
  const Sourced<int> no_gpus{0, "default"};
  plan.parameter_server = {first({sourced(d.parameter_server_cpus, "parameter_server_cpus"), plan.worker.cpus}),
                           first({sourced(d.parameter_server_memory, "parameter_server_memory"), plan.worker.memory}), no_gpus};
  plan.chief = {first({sourced(d.chief_cpus, "chief_cpus"), plan.worker.cpus}), first({sourced(d.chief_memory, "chief_memory"), plan.worker.memory}),
                no_gpus};
  return {};
}

Result<void> count_processes(Plan& plan, bool per_gpu) {
  const auto& d = plan.distribution;
  plan.processes_per_worker = d.processes_per_worker.value_or(per_gpu ? std::max(1, plan.worker.gpus.value) : 1);
  plan.slots_per_worker = d.slots_per_worker.value_or(plan.processes_per_worker);
  if (plan.processes_per_worker > plan.slots_per_worker)
    return input_error(fmt::format(
        "distribution_specification.slots_per_worker: {} slots are too few for {} processes per worker; raise it, or lower processes_per_worker",
        plan.slots_per_worker, plan.processes_per_worker));
  return {};
}

// job_options take precedence over the settings of a second, platform document.
Json merged_options(const Json& platform, const Json& job_options) {
  if (!platform.is_object() || !job_options.is_object()) return job_options;
  auto merged = platform;
  for (const auto& [key, value] : job_options.items()) {
    auto& slot = merged[key];
    if (slot.is_object() && value.is_object()) {
      std::vector<std::pair<std::string, Json>> members;
      append_members(members, slot);
      append_members(members, value);
      slot = make_object(std::move(members));
    } else if (slot.is_array() && value.is_array())
      slot.insert(slot.end(), value.begin(), value.end());
    else
      slot = value;
  }
  return merged;
}

void collect_environment(const Request& request, Plan& plan) {
  for (const auto& [name, value] : plan.program.environment) plan.environment.push_back({name, value, plan.program.source});
  for (const auto& [name, path] : plan.program.path_environment) plan.environment.push_back({name, path.text, plan.program.source, path});
  const auto is_path = [&plan](const std::string& name) {
    return std::ranges::any_of(plan.program.path_environment, [&](const auto& variable) { return variable.first == name; });
  };
  for (const auto& [name, value] : request.environment.items())
    if (!is_path(name)) plan.environment.push_back({name, value, std::string(passed_on_source)});
  if (!request.tensorboard_s3_address.empty() || request.as_train_model_job)
    plan.environment.push_back({"TENSORBOARD_S3_ADDRESS", request.tensorboard_s3_address, "tensorboard_s3_address"});
  for (const auto& [name, value] : plan.options.all.environment.items()) plan.environment.push_back({name, value, "job_options.environment"});
  // For a repeated name the last value is used, at its own position.
  std::vector<EnvironmentVariable> kept;
  std::set<std::string_view> later;
  for (auto it = plan.environment.rbegin(); it != plan.environment.rend(); ++it)
    if (later.insert(it->name).second) kept.push_back(*it);
  plan.environment.assign(kept.rbegin(), kept.rend());
}

Result<void> check_environment(const Plan& plan) {
  for (const auto& variable : plan.environment) {
    TRY(check_variable_name(variable.name, variable.source));
    if (variable.value.is_string() && variable.value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return input_error(fmt::format("{}: the value of {} contains a NUL character (\\u0000), which an environment variable cannot hold",
                                     variable.source, variable.name));
  }
  return {};
}

Result<void> check_image(const std::string& image, std::string_view source) {
  constexpr std::size_t longest = 1024;
  const auto allowed = [](char c) { return c > 0x20 && c < 0x7F; };
  if (image.size() <= longest && std::all_of(image.begin(), image.end(), allowed)) return {};
  return input_error(fmt::format("{}: {} is not a valid image name", source, shown_value(source, Json(image.substr(0, 100)))));
}

Result<void> check_images(const Plan& plan) {
  TRY(check_image(plan.image.value, plan.image.source + (plan.image.source == "base_image" ? "" : ".image")));
  TRY(check_image(plan.options.agent_image, "job_options.agent_image"));
  for (const auto& [type, options] : plan.options.replicas) TRY(check_image(options.image, fmt::format("job_options.replicas.{}.image", type)));
  return {};
}

Result<void> check_volumes(const Plan& plan) {
  TRY(check_mounts(plan.options.all.volumes, plan.train_mount));
  for (const auto& [type, options] : plan.options.replicas)
    if (!options.volumes.empty())
      TRY(in_context("job_options.replicas." + type, check_mounts(options_for(plan.options, type).volumes, plan.train_mount)));
  return {};
}

// Excludes what only affects how the step waits. Addresses are added when it is known which of them the pods use (route_data).
std::string hash_of(const Request& request, const Plan& plan) {
  const Json parts = {request.train_specification,
                      request.train_parameters,
                      request.distribution_specification,
                      request.job_options,
                      plan.image.value,
                      request.train_mount,
                      request.model_name,
                      request.node_selector,
                      request.pvc_name,
                      request.cpus,
                      request.memory,
                      request.gpus};
  return sha256_hex(to_text(parts));
}

Result<void> name_run(const Request& request, Plan& plan) {
  TRY(check_model_name(request.model_name));
  if (!request.run_id.empty())
    plan.run_id = request.run_id;
  else
    plan.run_id = (request.identity.empty() ? random_hex() : sha256_hex(request.identity)).substr(0, 16);
  plan.fresh_run = request.run_id.empty() && request.identity.empty();
  TRY(check_run_id(plan.run_id));
  plan.job_name = job_name(request.model_name, plan.run_id);
  plan.model_name_is_default = request.model_name == Request().model_name;
  plan.labels = {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", plan.run_id}, {"trainstep.dev/model", request.model_name}};
  return {};
}

}  // namespace

Result<Plan> make_plan(const Request& request, const std::vector<JobTypeTraits>& types) {
  Plan plan;
  Fields component(request.job_options, "job_options");
  ASSIGN(plan.program, spec::read_program(request.train_specification, component.text("component").value_or("")));
  if (request.is_command) plan.program.source = command_source;
  ASSIGN(plan.options, parse_options(merged_options(plan.program.platform, request.job_options)));
  if (plan.options.single_node == true) plan.nodes = {"", true, "job_options.single_node"};
  if (request.job_options.is_object() && !request.job_options.contains("gpu_resource") && !plan.program.resources.gpu_resource.empty())
    plan.options.gpu_resource = plan.program.resources.gpu_resource;
  ASSIGN(plan.distribution, parse_distribution(request.distribution_specification, types));
  plan.job_type = plan.distribution.type;
  const auto& traits = *std::ranges::find(types, plan.job_type, &JobTypeTraits::name);
  plan.launches_ranks = traits.launches_ranks;
  ASSIGN(plan.binding, bind(plan.program, request));
  TRY(size_replicas(request, plan));
  TRY(count_processes(plan, traits.process_per_gpu));
  TRY(name_run(request, plan));
  if (!request.name_space.empty()) TRY(check_namespace("namespace", request.name_space));
  plan.name_space = request.name_space;
  plan.image = request.base_image.empty() ? Sourced<std::string>{plan.program.image, "train_specification"}
                                          : Sourced<std::string>{request.base_image, "base_image"};
  if (!request.train_mount.starts_with('/'))
    return input_error(fmt::format("train_mount: \"{}\" is not an absolute path; write one such as /train", request.train_mount));
  TRY(check_mount_path("train_mount", request.train_mount));
  if (normal_path(request.train_mount) == "/dev/shm") return input_error("train_mount: /dev/shm is used for shared memory; choose another path");
  plan.train_mount = request.train_mount;
  if (!request.pvc_name.empty()) TRY(check_object_name("pvc_name", request.pvc_name));
  plan.pvc_name = request.pvc_name;
  ASSIGN(const auto claimed, parse_memory(request.pvc_size, "pvc_size"));
  if (claimed.value <= 0) return input_error("pvc_size: must be greater than 0; write a size such as 10Gi");
  plan.pvc_size = request.pvc_size;
  plan.as_train_model_job = request.as_train_model_job;
  plan.node_selector = request.node_selector;
  collect_environment(request, plan);
  TRY(check_environment(plan));
  TRY(check_volumes(plan));
  TRY(check_images(plan));
  TRY(check_exec_size(plan));
  plan.spec_hash = hash_of(request, plan);
  return plan;
}

Placement pod_placement(const Plan& plan, bool primary) {
  if (plan.data.has_agent()) return plan.data.placement;
  const auto outputs = primary ? plan.train_mount + "/outputs/" : std::string("/tmp/trainstep/outputs/");
  Placement placement;
  for (const auto& input : plan.binding.inputs)
    if (input.path) placement.inputs[input.name] = plan.train_mount + "/inputs/" + file_name(input.name);
  for (const auto& output : plan.binding.outputs) placement.outputs[output.name] = outputs + file_name(output.name);
  placement.executor_output_file = outputs + "executor_output.json";
  return placement;
}

}  // namespace trainstep::plan
