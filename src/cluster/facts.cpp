// SPDX-License-Identifier: Apache-2.0
#include "cluster/facts.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

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

std::vector<plan::ClaimMount> mounts_of(const Json* spec) {
  std::map<std::string, std::string> claims;  // volume → claim
  for (const auto& volume : list(spec, "volumes"))
    if (const auto* claim = at(&volume, "persistentVolumeClaim")) claims[text(&volume, "name")] = text(claim, "claimName");
  std::vector<plan::ClaimMount> mounts;
  for (const auto& mount : list(own_container(spec), "volumeMounts"))
    if (const auto claim = claims.find(text(&mount, "name")); claim != claims.end() && text(&mount, "subPathExpr").empty())
      mounts.push_back({claim->second, text(&mount, "mountPath"), text(&mount, "subPath")});
  return mounts;
}

// Argo gives each container of its pods the template that they are made from; a very large one lies elsewhere.
Json argo_template(const Json* spec) {
  for (const auto* key : {"containers", "initContainers"})
    for (const auto& container : list(spec, key))
      for (const auto& variable : list(&container, "env"))
        if (text(&variable, "name") == "ARGO_TEMPLATE") return Json::parse(text(&variable, "value"), nullptr, false);
  return {};
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

// A number is one in JSON, or text.
std::optional<int> whole_number(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return whole_number(value->get_ref<const std::string&>());
  return value->is_number_integer() ? whole_number(value->dump()) : std::nullopt;
}

// Argo's durations: "90" (seconds), "90s", "1h30m".
std::optional<Duration> duration(std::string_view text) {
  if (const auto seconds = whole_number(text)) return std::chrono::seconds(*seconds);
  Duration sum{};
  while (!text.empty()) {
    const auto digits = text.find_first_not_of("0123456789");
    const auto number = digits == std::string_view::npos ? std::nullopt : whole_number(text.substr(0, digits));
    if (!number) return std::nullopt;
    const char unit = text[digits];
    if (unit != 'h' && unit != 'm' && unit != 's') return std::nullopt;
    sum += std::chrono::seconds(*number * (unit == 'h' ? 3600 : unit == 'm' ? 60 : 1));
    text.remove_prefix(digits + 1);
  }
  return sum;
}

// "wf(0).root(0).train(1)" → 1: which attempt this is, of a node under a retry strategy (kfp.md §10).
std::optional<int> attempt_of(std::string_view node_name) {
  const auto open = node_name.rfind('(');
  if (!node_name.ends_with(')') || open == std::string_view::npos) return std::nullopt;
  return whole_number(node_name.substr(open + 1, node_name.size() - open - 2));
}

// In doubt none follows: then a lost step ends its job, which is better than a job that nobody looks after. The policies are those that try again
// what was evicted (Argo's default is OnFailure); `limit` does not count the first attempt; maxDuration counts from the beginning of the first.
void find_retries(const Json* spec, std::optional<Time> created, Facts& facts) {
  const auto argo = argo_template(spec);
  const auto* strategy = at(&argo, "retryStrategy");
  const auto attempt = attempt_of(facts.node_name);
  if (strategy == nullptr || !strategy->is_object() || !attempt || at(strategy, "expression") != nullptr) return;
  const auto policy = text(strategy, "retryPolicy");
  if (!policy.empty() && policy != "Always" && policy != "OnFailure") return;
  const auto* limit = at(strategy, "limit");
  if (limit != nullptr && whole_number(limit).value_or(0) <= *attempt) return;
  if (const auto* longest = at(at(strategy, "backoff"), "maxDuration")) {
    const auto time = longest->is_string() ? duration(longest->get_ref<const std::string&>()) : std::nullopt;
    if (!time || *attempt > 0 || !created) return;
    if (time->count() > 0) facts.retried_until = *created + *time;
  }
  facts.retried = true;
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
  facts.image = text(own_container(at(&pod, "spec")), "image");
  facts.mounts = mounts_of(at(&pod, "spec"));
  find_retries(at(&pod, "spec"), from_rfc3339(text(metadata, "creationTimestamp")), facts);
  return facts;
}

void find_facts(kube::Client& client, const std::string& name_space, const std::string& pod, std::function<void(Result<Facts>)> done) {
  const kube::Path path{"v1", "pods", name_space, pod, ""};
  client.get(path, {}, {}, [name_space, pod, done = std::move(done)](kube::Answer answer) {
    if (answer) return done(read_facts(*answer));
    const auto& problem = answer.error();
    // A token that is not accepted says nothing of what may be read: with another identity, a second job would be made.
    if (problem.status == 401) return done(Error{ErrorKind::unavailable, problem.error.message});
    if (problem.status != 403 && problem.status != 404) return done(problem.error);
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
