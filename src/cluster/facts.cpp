// SPDX-License-Identifier: Apache-2.0
#include "cluster/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "base/files.h"
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

// Argo calls the step's container "main"; otherwise it is the one that the pod names for kubectl, as Istio's injection does, or the first that is not
// the proxy of a mesh.
const Json* own_container(const Json& pod) {
  const auto& containers = list(at(&pod, "spec"), "containers");
  const auto named = [&](const std::string& name) {
    const auto found = std::ranges::find_if(containers, [&](const Json& container) { return text(&container, "name") == name; });
    return !name.empty() && found != containers.end() ? &*found : nullptr;
  };
  if (const auto* main = named("main")) return main;
  if (const auto* usual = named(text(at(metadata_of(pod), "annotations"), "kubectl.kubernetes.io/default-container"))) return usual;
  const auto is_proxy = [](const Json& container) {
    return text(&container, "name") == "istio-proxy" || text(&container, "name") == "linkerd-proxy";
  };
  const auto first = std::ranges::find_if_not(containers, is_proxy);
  return first == containers.end() ? nullptr : &*first;
}

// Of any volume: a path on a volume that is not a claim is on no claim, even if it is below a claim's mount.
std::vector<plan::ClaimMount> mounts_of(const Json& pod) {
  std::map<std::string, const Json*> claims;  // by volume
  for (const auto& volume : list(at(&pod, "spec"), "volumes"))
    if (const auto* claim = at(&volume, "persistentVolumeClaim")) claims[text(&volume, "name")] = claim;
  std::vector<plan::ClaimMount> mounts;
  for (const auto& mount : list(own_container(pod), "volumeMounts")) {
    const auto claim = claims.find(text(&mount, "name"));
    const bool known = claim != claims.end() && text(&mount, "subPathExpr").empty();  // otherwise only the kubelet knows where it points
    const bool read_only = is_true(at(&mount, "readOnly")) || (known && is_true(at(claim->second, "readOnly")));
    mounts.push_back({known ? text(claim->second, "claimName") : "", text(&mount, "mountPath"), text(&mount, "subPath"), read_only});
  }
  return mounts;
}

// Argo gives the containers of its pods the template that they are created from; a template of more than 128 KiB is only in `file`, in every
// container of the pod. nullopt: it cannot be read.
std::optional<Json> argo_template(const Json* spec, const std::filesystem::path& file) {
  const auto parse = [](const std::string& text) { return Json::parse(text, nullptr, false); };
  for (const auto* key : {"containers", "initContainers"})
    for (const auto& container : list(spec, key))
      for (const auto& variable : list(&container, "env"))
        if (text(&variable, "name") == "ARGO_TEMPLATE") {
          if (text(&variable, "value") != "offloaded") return parse(text(&variable, "value"));
          const auto written = read_file(file, std::size_t{16} << 20U);
          auto whole = written ? parse(*written) : Json();
          return whole.is_object() ? std::optional(std::move(whole)) : std::nullopt;
        }
  return Json();
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

// A number, or a string with one.
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

// "wf(0).root(0).train(1)" → 1: the number of this attempt, for a node with a retry strategy (docs/design/kfp.md, Attempts).
std::optional<int> attempt_of(std::string_view node_name) {
  const auto open = node_name.rfind('(');
  if (!node_name.ends_with(')') || open == std::string_view::npos) return std::nullopt;
  return whole_number(node_name.substr(open + 1, node_name.size() - open - 2));
}

double factor_of(const Json* backoff) {
  const auto* factor = at(backoff, "factor");
  if (factor == nullptr) return 1;
  const auto written = factor->is_string() ? factor->get<std::string>() : factor->dump();
  double number = 1;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), number);
  return error == std::errc{} && number >= 1 && number < 1'000 ? number : 1;
}

std::optional<Duration> duration_at(const Json* object, std::string_view key) {
  const auto* value = at(object, key);
  if (value == nullptr) return std::nullopt;
  return value->is_string() ? duration(value->get_ref<const std::string&>()) : std::nullopt;
}

// duration · factor^attempt, at most `cap`.
Duration pause_before_next(const Json* backoff, int attempt) {
  constexpr double longest = 24 * 3600 * 1000.0;
  auto pause = static_cast<double>(duration_at(backoff, "duration").value_or(Duration{0}).count());
  for (int i = 0; i < attempt && pause < longest; ++i) pause *= factor_of(backoff);
  const auto cap = duration_at(backoff, "cap");
  return Duration{static_cast<std::int64_t>(std::min({pause, longest, cap ? static_cast<double>(cap->count()) : longest}))};
}

// To Argo a deleted or evicted pod is a failure or an error, depending on what it sees first – the end of the container, or that the pod is gone. So
// only `Always` retries a lost pod for certain; other policies and expressions may. Kubeflow Pipelines since 2.17 sets `OnError` in every template.
// `limit` does not count the first attempt; maxDuration counts from the start of the first one. If the strategy is unknown, another attempt may
// follow: the job is kept for at most an hour instead of being ended with what it has trained.
void find_retries(const Json* spec, const std::filesystem::path& template_file, std::optional<Time> created, Facts& facts) {
  const auto attempt = attempt_of(facts.node_name);
  if (!attempt) return;
  const auto argo = argo_template(spec, template_file);
  if (!argo) {
    facts.retry = Retry::may_follow;
    facts.notices.push_back(
        fmt::format("the template of this step's pod is too large for its environment, and {} cannot be read: assuming that another attempt is "
                    "possible, regardless of its retryStrategy",
                    template_file.string()));
    return;
  }
  const auto* strategy = at(&*argo, "retryStrategy");
  if (strategy == nullptr || !strategy->is_object()) return;
  const bool sure = text(strategy, "retryPolicy") == "Always" && at(strategy, "expression") == nullptr;
  const auto* limit = at(strategy, "limit");
  const auto most = limit != nullptr ? whole_number(limit) : std::nullopt;
  const bool none = limit != nullptr &&
                    (limit->is_number_integer() ? limit->get<std::int64_t>() < 0 : limit->is_string() && text(strategy, "limit").starts_with('-'));
  if (none || (most && *most <= *attempt)) return;
  const auto* backoff = at(strategy, "backoff");
  bool until_known = true;
  if (at(backoff, "maxDuration") != nullptr) {
    const auto time = duration_at(backoff, "maxDuration");
    until_known = time && *attempt == 0 && created;
    if (until_known && time->count() > 0) facts.retried_until = *created + *time;
  }
  facts.retry = sure && until_known && (limit == nullptr || most) ? Retry::follows : Retry::may_follow;
  facts.retry_pause = pause_before_next(backoff, *attempt);
}

// The newest time in the pod that was written by the control plane, not by the node.
std::optional<Time> written(const Json& pod) {
  auto newest = from_rfc3339(text(metadata_of(pod), "creationTimestamp"));
  for (const auto& condition : list(at(&pod, "status"), "conditions"))
    if (text(&condition, "type") == "PodScheduled") newest = std::max(newest, from_rfc3339(text(&condition, "lastTransitionTime")));
  return newest;
}

// KFP's driver makes Argo's emissary run the launcher, which runs the step's command.
bool has_launcher(const Json* container) {
  for (const auto* key : {"command", "args"})
    for (const auto& word : list(container, key))
      if (word.is_string() && word.get_ref<const std::string&>() == "/kfp-launcher/launch") return true;
  return false;
}

}  // namespace

Facts read_facts(const Json& pod, const std::filesystem::path& template_file) {
  Facts facts;
  const auto* metadata = at(&pod, "metadata");
  const auto* annotations = at(metadata, "annotations");
  facts.name_space = text(metadata, "namespace");
  facts.pod = text(metadata, "name");
  facts.pod_uid = text(metadata, "uid");
  facts.node = text(at(&pod, "spec"), "nodeName");
  facts.node_name = text(annotations, "workflows.argoproj.io/node-name");
  facts.attempts_before = attempt_of(facts.node_name).value_or(0);
  facts.workflow = workflow_of(metadata);
  facts.pipeline_run = text(at(metadata, "labels"), "pipeline/runid");
  facts.image = text(own_container(pod), "image");
  facts.mounts = mounts_of(pod);
  facts.launcher = has_launcher(own_container(pod));
  if (const auto* grace = at(at(&pod, "spec"), "terminationGracePeriodSeconds"); grace != nullptr && grace->is_number_integer())
    facts.grace = std::chrono::seconds(std::clamp<std::int64_t>(grace->get<std::int64_t>(), 0, 86'400));
  facts.written = written(pod);
  const auto created = from_rfc3339(text(metadata, "creationTimestamp"));
  if (facts.workflow) facts.began = created;
  find_retries(at(&pod, "spec"), template_file, created, facts);
  return facts;
}

namespace {

constexpr std::size_t max_host_name_length = 63;

Facts facts_without_pod(const std::string& name_space, const std::string& why) {
  Facts facts;
  facts.name_space = name_space;
  facts.notices.push_back(fmt::format(
      "no permission to read this step's own pod ({}): its workflow is unknown, so a retry cannot adopt this job, and only a signal cancels it",
      why));
  return facts;
}

std::string node_id_of(const Json& pod) { return text(at(metadata_of(pod), "annotations"), "workflows.argoproj.io/node-id"); }

// The kubelet cuts a host name that is too long, and removes dashes and dots from its end.
bool may_be(const Json& candidate, const OwnPod& pod) {
  const auto name = text(metadata_of(candidate), "name");
  const auto id = node_id_of(candidate);
  if (!pod.node_id.empty() && !id.empty()) return id == pod.node_id;
  return name == pod.name || (name.size() > max_host_name_length && pod.name.size() + 2 >= max_host_name_length && name.starts_with(pod.name));
}

// This process runs in the pod: that it does not exist or may not be read can be the response of a gateway, of an API server that is behind, or of
// one that has just started and knows no roles yet. Without the pod there would be a second job. `none_listed`: there is no pod of its node either.
void look_once_more(kube::Client& client, const std::string& name_space, const OwnPod& pod, const std::string& why, bool none_listed,
                    const std::function<void(Result<Facts>)>& done) {
  auto call = client.get({"v1", "pods", name_space, pod.name, ""}, {}, {std::nullopt, true, true}, [=](const kube::Answer& answer) {
    if (answer) return done(read_facts(*answer, pod.argo_template));
    const auto& problem = answer.error();
    // A pod of Argo that is gone was lost, and this process survived: the job belongs to another attempt.
    if (none_listed && !pod.node_id.empty() && kube::tells_absent(problem, pod.name))
      return done(Error{ErrorKind::not_found, fmt::format("this step's pod {} is gone: another attempt of the step may be running", pod.name)});
    if (problem.status != 403 && problem.status != 404) return done(Error{ErrorKind::unavailable, problem.error.message});
    done(facts_without_pod(name_space, why));
  });
  call.detach();
}

// Node ids are reused when Argo recreates a pod, and several names may have the same start: only a single match is certain.
void look_among_all(kube::Client& client, const std::string& name_space, const OwnPod& pod, const std::string& why,
                    const std::function<void(Result<Facts>)>& done) {
  auto call =
      client.list({"v1", "pods", name_space, "", ""}, {}, {},
                  [&client, name_space, pod, why, done](kube::Answer answer) {
                    const auto status = answer ? 200 : answer.error().status;
                    if (status == 403 || status == 404) return look_once_more(client, name_space, pod, why, false, done);
                    if (!answer) return done(answer.error().error);
                    std::vector<const Json*> found;
                    for (const auto& candidate : list(&*answer, "items"))
                      if (metadata_of(candidate) != nullptr) found.push_back(&candidate);
                    const auto is_its_node = [&pod](const Json* candidate) { return !pod.node_id.empty() && node_id_of(*candidate) == pod.node_id; };
                    if (std::ranges::any_of(found, is_its_node)) std::erase_if(found, std::not_fn(is_its_node));
                    if (found.size() != 1) return look_once_more(client, name_space, pod, why, found.empty(), done);
                    done(read_facts(*found.front(), pod.argo_template));
                  },
                  {.trim = [pod](Json& one) {
                    if (!may_be(one, pod)) one = Json::object();
                  }});
  call.detach();
}

}  // namespace

Facts facts_for_job_elsewhere(Facts facts) {
  facts.workflow.reset();
  facts.mounts.clear();
  return facts;
}

void find_facts(kube::Client& client, const std::string& jobs, const OwnPod& pod, std::function<void(Result<Facts>)> done, kube::Retry retry) {
  const auto& name_space = pod.name_space.empty() ? jobs : pod.name_space;
  const kube::Path path{"v1", "pods", name_space, pod.name, ""};
  auto call = client.get(path, {}, retry, [&client, name_space, pod, done = std::move(done)](const kube::Answer& answer) {
    if (answer) return done(read_facts(*answer, pod.argo_template));
    const auto& problem = answer.error();
    // A token that is not accepted says nothing about permissions: with another identity, a second job would be created.
    if (problem.status == 401) return done(Error{ErrorKind::unavailable, problem.error.message});
    if (problem.status != 403 && problem.status != 404) return done(problem.error);
    look_among_all(client, name_space, pod, problem.error.message, done);
  });
  call.detach();
}

}  // namespace trainstep::cluster
