// SPDX-License-Identifier: Apache-2.0
#include "cluster/facts.h"

#include <fmt/format.h>

#include <map>

namespace trainstep::cluster {
namespace {

constexpr Duration patience{300'000};

const Json* at(const Json* object, std::string_view key) {
  return object != nullptr && object->is_object() ? trainstep::find(*object, key) : nullptr;
}

std::string text(const Json* object, std::string_view key) {
  const auto* value = at(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

const Json& list(const Json* object, std::string_view key) {
  static const Json none = Json::array();
  const auto* value = at(object, key);
  return value != nullptr && value->is_array() ? *value : none;
}

std::optional<Workflow> workflow_of(const Json* metadata) {
  for (const auto& owner : list(metadata, "ownerReferences"))
    if (text(&owner, "kind") == "Workflow" && text(&owner, "apiVersion").starts_with("argoproj.io/"))
      return Workflow{text(&owner, "apiVersion"), text(&owner, "name"), text(&owner, "uid")};
  return std::nullopt;
}

// Argo calls the step's container "main"; elsewhere the first one is ours.
const Json* own_container(const Json* spec) {
  const auto& containers = list(spec, "containers");
  for (const auto& container : containers)
    if (text(&container, "name") == "main") return &container;
  return containers.empty() ? nullptr : &containers.front();
}

std::vector<ClaimMount> mounts_of(const Json* spec) {
  std::map<std::string, std::string> claims;  // volume → claim
  for (const auto& volume : list(spec, "volumes"))
    if (const auto* claim = at(&volume, "persistentVolumeClaim")) claims[text(&volume, "name")] = text(claim, "claimName");
  std::vector<ClaimMount> mounts;
  for (const auto& mount : list(own_container(spec), "volumeMounts"))
    if (const auto claim = claims.find(text(&mount, "name")); claim != claims.end())
      mounts.push_back({claim->second, text(&mount, "mountPath"), text(&mount, "subPath")});
  return mounts;
}

}  // namespace

Facts read_facts(const Json& pod) {
  Facts facts;
  const auto* metadata = at(&pod, "metadata");
  const auto* annotations = at(metadata, "annotations");
  facts.name_space = text(metadata, "namespace");
  facts.pod = text(metadata, "name");
  facts.pod_uid = text(metadata, "uid");
  facts.node_name = text(annotations, "workflows.argoproj.io/node-name");
  facts.workflow = workflow_of(metadata);
  facts.pipeline_run = text(at(metadata, "labels"), "pipeline/runid");
  facts.mounts = mounts_of(at(&pod, "spec"));
  // A node under a retryStrategy is named "…(0)", "…(1)" (kfp.md §10).
  facts.retried = facts.node_name.ends_with(')');
  return facts;
}

void find_facts(kube::Client& client, const std::string& name_space, const std::string& pod, std::function<void(Result<Facts>)> done) {
  const kube::Path path{"v1", "pods", name_space, pod, ""};
  client.get(path, {}, {patience}, [name_space, pod, done = std::move(done)](kube::Answer answer) {
    if (answer) return done(read_facts(*answer));
    const auto& problem = answer.error();
    if (kube::retryable(problem)) return done(problem.error);
    Facts facts;
    facts.name_space = name_space;
    facts.notices.push_back(fmt::format(
        "this step may not read its own pod ({}): it is not known which workflow it belongs to, so a retry cannot find this job again and a "
        "cancel is only known by its signal",
        problem.error.message));
    done(std::move(facts));
  });
}

}  // namespace trainstep::cluster
