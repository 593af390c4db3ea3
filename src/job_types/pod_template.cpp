// SPDX-License-Identifier: Apache-2.0
#include "job_types/pod_template.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "job_types/affinity.h"
#include "job_types/agent.h"
#include "job_types/object.h"
#include "job_types/option_source.h"
#include "job_types/volumes.h"

namespace trainstep::job_types {
namespace {

using plan::PodOptions;

constexpr auto container = "/spec/containers/0";

std::string doubled(std::string_view text) {
  std::string result;
  for (const char c : text) result.append(c == '$' ? 2 : 1, c);
  return result;
}

// An element of a container's `env`.
Json env_entry(const plan::EnvironmentVariable& variable) {
  Json entry = {{"name", variable.name}};
  const auto& value = variable.value;
  if (!value.is_object()) {
    entry["value"] = doubled(scalar_text(value));
    return entry;
  }
  const auto of_object = [&](const Json& name) {
    Json reference{{"name", name}, {"key", value.at("key")}};
    if (value.contains("optional")) reference["optional"] = true;
    return reference;
  };
  auto& from = entry["valueFrom"];
  if (const auto* secret = trainstep::find(value, "secret"))
    from["secretKeyRef"] = of_object(*secret);
  else if (const auto* config_map = trainstep::find(value, "config_map"))
    from["configMapKeyRef"] = of_object(*config_map);
  else if (const auto* field = trainstep::find(value, "field"))
    from["fieldRef"] = {{"fieldPath", *field}};
  else
    from = value.at("value_from");
  return entry;
}

// A service mesh's sidecar would keep running after the program, and keep the pod and the job from completing. How to disable injection, by mesh:
// Istio's webhooks read the label, those before 1.10 the annotation.
struct Mesh {
  std::string_view key;
  std::string_view value;
  bool label, annotation;
};
constexpr std::array<Mesh, 4> meshes{{
    {"sidecar.istio.io/inject", "false", true, true},
    {"linkerd.io/inject", "disabled", false, true},
    {"kuma.io/sidecar-injection", "disabled", true, true},
    {"consul.hashicorp.com/connect-inject", "false", false, true},
}};

// If job_options contain a mesh's key, as a label or annotation, the mesh is left to the user.
void keep_meshes_out(const PodOptions& options, Manifest& pod) {
  constexpr auto why = "default: a sidecar would keep the pod from ending";
  for (const auto& mesh : meshes) {
    if (trainstep::find(options.labels, mesh.key) != nullptr || trainstep::find(options.annotations, mesh.key) != nullptr) continue;
    if (mesh.label) pod.set_member("/metadata/labels", mesh.key, std::string(mesh.value), why);
    if (mesh.annotation) pod.set_member("/metadata/annotations", mesh.key, std::string(mesh.value), why);
  }
}

void add_metadata(const plan::Plan& plan, const PodOptions& options, const OptionSource& source, Manifest& pod) {
  for (const auto& [key, value] : plan.labels) pod.set_member("/metadata/labels", key, value, "default: used to find it");
  pod.set_members("/metadata/labels", source.members_of(options, &PodOptions::labels, "labels"));
  keep_meshes_out(options, pod);
  pod.set_members("/metadata/annotations", source.members_of(options, &PodOptions::annotations, "annotations"));
}

void add_program(const plan::Plan& plan, const PodShape& shape, const PodOptions& options, const OptionSource& source, Manifest& pod) {
  const std::string at = container;
  pod.set(at + "/name", shape.container.value, shape.container.source);
  if (options.image.empty())
    pod.set(at + "/image", plan.image.value, plan.image.source);
  else
    pod.set(at + "/image", options.image, source.of_image());
  if (!options.image_pull_policy.empty())
    pod.set(at + "/imagePullPolicy", options.image_pull_policy, source.of(&PodOptions::image_pull_policy, "image_pull_policy"));
  for (const auto& word : shape.command) pod.append(at + "/command", doubled(word.value), word.source);
  for (const auto& variable : shape.environment) pod.append(at + "/env", env_entry(variable), variable.source);
  if (plan.data.has_agent())
    pod.append(at + "/env", env_entry({std::string(plan::task_variable), to_text(plan::to_json(plan.data.task)), ""}), "default: the agent's task");
  pod.set(at + "/terminationMessagePolicy", "FallbackToLogsOnError", "default: keeps the last lines of a failed pod after its log is gone");
}

void add_resources(const plan::Plan& plan, const PodShape& shape, const PodOptions& options, const OptionSource& source, Manifest& pod) {
  const auto add = [&](std::string_view name, const Json& amount, const std::string& from) {
    for (const auto* what : {"/resources/limits", "/resources/requests"}) pod.set_member(std::string(container) + what, name, amount, from);
  };
  const auto& resources = shape.resources;
  if (resources.cpus) add("cpu", resources.cpus->value.text, resources.cpus->source);
  if (resources.memory) add("memory", resources.memory->value.text, resources.memory->source);
  if (shape.ranks && resources.gpus.value > 0) add(plan.options.gpu_resource, std::to_string(resources.gpus.value), resources.gpus.source);
  for (const auto* what : {"/resources/limits", "/resources/requests"})
    pod.set_members(std::string(container) + what, source.members_of(options, &PodOptions::requests, "requests"));
}

void add_scheduling(const plan::Plan& plan, const PodOptions& options, const OptionSource& source, Manifest& pod) {
  std::vector<Manifest::Member> labels;
  for (const auto& [key, value] : plan.node_selector.items()) labels.push_back({key, scalar_text(value), "node_selector"});
  pod.set_members("/spec/nodeSelector", std::move(labels));
  pod.set_members("/spec/nodeSelector", source.members_of(options, &PodOptions::node_selector, "node_selector"));
  std::size_t index = 0;
  for (const auto& toleration : options.tolerations) {
    pod.append("/spec/tolerations", toleration, source.of_item(&PodOptions::tolerations, "tolerations", index));
    ++index;
  }
  if (auto affinity = affinity_of(plan, options.affinity); !affinity.is_null())
    pod.set("/spec/affinity", std::move(affinity), options.affinity.is_null() ? plan.nodes.source : source.of(&PodOptions::affinity, "affinity"));
  const auto set = [&](const char* field, std::string PodOptions::* member, std::string_view key) {
    if (!(options.*member).empty()) pod.set(field, options.*member, source.of(member, key));
  };
  set("/spec/priorityClassName", &PodOptions::priority_class, "priority_class");
  set("/spec/schedulerName", &PodOptions::scheduler, "scheduler");
  set("/spec/runtimeClassName", &PodOptions::runtime_class, "runtime_class");
}

void add_access(const PodOptions& options, const OptionSource& source, Manifest& pod) {
  if (!options.service_account.empty())
    pod.set("/spec/serviceAccountName", options.service_account, source.of(&PodOptions::service_account, "service_account"));
  std::size_t index = 0;
  for (const auto& secret : options.image_pull_secrets) {
    pod.append("/spec/imagePullSecrets", {{"name", secret}}, source.of_item(&PodOptions::image_pull_secrets, "image_pull_secrets", index));
    ++index;
  }
  if (!options.pod_security_context.is_null())
    pod.set("/spec/securityContext", options.pod_security_context, source.of(&PodOptions::pod_security_context, "pod_security_context"));
  if (!options.security_context.is_null())
    pod.set(std::string(container) + "/securityContext", options.security_context, source.of(&PodOptions::security_context, "security_context"));
  if (options.host_network) {
    pod.set("/spec/hostNetwork", *options.host_network, source.of_host_network());
    // Otherwise a pod in the host network uses the node's name server, which cannot resolve pods.
    if (*options.host_network) pod.set("/spec/dnsPolicy", "ClusterFirstWithHostNet", source.of_host_network());
  }
}

}  // namespace

Manifest pod_template(const plan::Plan& plan, const PodShape& shape) {
  const auto options = plan::options_for(plan.options, shape.type);
  const OptionSource source(plan.options, shape.type);
  Manifest pod;
  add_metadata(plan, options, source, pod);
  add_program(plan, shape, options, source, pod);
  add_resources(plan, shape, options, source, pod);
  add_scheduling(plan, options, source, pod);
  add_access(options, source, pod);
  constexpr std::int64_t kubernetes_default = 30;
  if (const auto grace = seconds(plan.options.run_policy.stop_grace); grace != kubernetes_default)
    pod.set("/spec/terminationGracePeriodSeconds", grace, "job_options.run_policy.stop_grace");
  add_volumes(plan, shape.type, shape.resources, shape.ranks, pod);
  add_agent(plan, shape.type, pod);
  return pod;
}

std::vector<plan::EnvironmentVariable> overlaid(std::vector<plan::EnvironmentVariable> base, const plan::Plan& plan, const std::string& type) {
  const auto found = plan.options.replicas.find(type);
  if (found == plan.options.replicas.end()) return base;
  std::map<std::string, std::size_t> places;
  for (const auto& variable : base) places.emplace(variable.name, places.size());
  for (const auto& [name, value] : found->second.environment.items()) {
    plan::EnvironmentVariable variable{name, value, fmt::format("job_options.replicas.{}.environment", type)};
    const auto [place, added] = places.emplace(name, base.size());
    if (added)
      base.push_back(std::move(variable));
    else
      base[place->second] = std::move(variable);
  }
  return base;
}

std::vector<plan::EnvironmentVariable> environment_of(const plan::Plan& plan, const std::string& type, const plan::Placement& placement) {
  std::vector<plan::EnvironmentVariable> variables;
  for (auto variable : plan.environment) {
    if (variable.path) {
      const auto& places = variable.path->kind == spec::Argument::Kind::input_path ? placement.inputs : placement.outputs;
      const auto found = places.find(variable.path->text);
      if (found == places.end()) continue;
      variable.value = found->second;
    }
    variables.push_back(std::move(variable));
  }
  return overlaid(std::move(variables), plan, type);
}

}  // namespace trainstep::job_types
