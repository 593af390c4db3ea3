// SPDX-License-Identifier: Apache-2.0
#include "cluster/pod_dry_run.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cluster/objects.h"
#include "cluster/permissions.h"
#include "job_types/templates.h"

namespace trainstep::cluster {
namespace {

constexpr kube::Retry dry_run_retry{Duration{30'000}};
constexpr std::string_view label = "pod-security.kubernetes.io/enforce";
using enum Finding::Severity;

// Null: it has none.
const Json* template_of(const Json& object, const std::string& type) {
  for (const auto& one : job_types::pod_templates(object))
    if (one.type.empty() || one.type == type) return one.json;
  return nullptr;
}

// Quotas are checked after Pod Security, and `check` reports them separately.
bool is_taken(const kube::Answer& answer) { return answer || answer.error().error.message.find("exceeded quota") != std::string::npos; }

}  // namespace

std::vector<DryRunPod> dry_run_pods(const Json& object, const plan::Plan& plan, const job_types::Resource& resource) {
  std::vector<DryRunPod> pods;
  const auto& kind = job_types::find(plan.job_type);
  for (const auto& replicas : kind.replicas(plan)) {
    const auto* from = template_of(object, replicas.type);
    const auto* spec = at(from, "spec");
    if (spec == nullptr) continue;
    Json metadata = {{"name", fmt::format("{}-{}", plan.job_name, lower(replicas.type))}};
    for (const auto* member : {"labels", "annotations"})
      if (const auto* value = at(at(from, "metadata"), member)) metadata[member] = *value;
    auto& pod = pods.emplace_back(DryRunPod{replicas.type, {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", *spec}}, {}});
    if (kind.injected != nullptr) pod.injected = kind.injected(plan, resource, replicas.type);
  }
  return pods;
}

std::string pod_security_in(const std::string& refusal) {
  const auto begin = refusal.find("violates PodSecurity");
  return begin == std::string::npos ? "" : refusal.substr(begin);
}

PodDryRun::PodDryRun(kube::Client& client, std::vector<DryRunPod> pods, std::string name_space, Sink sink)
    : m_client(client), m_pods(std::move(pods)), m_name_space(std::move(name_space)), m_sink(std::move(sink)) {
  const kube::Path reviews{"authorization.k8s.io/v1", "selfsubjectaccessreviews"};
  m_call = m_client.create(reviews, access_review({"", "pods", "create"}, m_name_space), false, dry_run_retry, [this](const kube::Answer& answer) {
    if (!answer) return m_sink.done(answer.error().error);
    if (allowed(*answer)) return try_pods(0);
    read_namespace_level();
  });
}

void PodDryRun::create(const Json& pod, std::function<void(const kube::Answer&)> done) {
  m_call = m_client.create({"v1", "pods", m_name_space}, pod, true, dry_run_retry, std::move(done));
}

void PodDryRun::try_pods(std::size_t index) {
  if (index == m_pods.size()) {
    if (m_well) log(ok, "Pod Security admits the pods");
    return m_sink.done({});
  }
  create(m_pods[index].pod, [this, index](const kube::Answer& answer) {
    if (!answer && kube::retryable(answer.error())) return m_sink.done(answer.error().error);
    const auto& type = m_pods[index].type;
    if (is_taken(answer)) return try_injected(index);
    m_well = false;
    const auto& message = answer.error().error.message;
    if (const auto refusal = pod_security_in(message); !refusal.empty())
      log(error, fmt::format("pods of {} would be rejected, because each {}; set the missing fields in job_options.security_context", type, refusal));
    else  // a webhook may decide by the user, which will be the job's controller
      log(message.find("admission webhook") == std::string::npos ? error : warning, fmt::format("pods of {} would be rejected: {}", type, message));
    try_pods(index + 1);
  });
}

void PodDryRun::try_injected(std::size_t index) {
  const auto& injected = m_pods[index].injected;
  if (!injected) return try_pods(index + 1);
  auto pod = m_pods[index].pod;
  pod["spec"]["initContainers"].push_back(injected->init_container);
  create(pod, [this, index, injected = *injected](const kube::Answer& answer) {
    if (!answer && kube::retryable(answer.error())) return m_sink.done(answer.error().error);
    if (!is_taken(answer)) report_injected(m_pods[index].type, injected, pod_security_in(answer.error().error.message));
    try_pods(index + 1);
  });
}

void PodDryRun::report_injected(const std::string& type, const job_types::InjectedContainer& injected, const std::string& refusal) {
  m_well = false;
  log(warning, fmt::format("the operator's container {} would, by default, cause pods of {} to be rejected{}{}; {}",
                           text(&injected.init_container, "name"), type, refusal.empty() ? "" : ", because each ", refusal, injected.remedy));
}

void PodDryRun::read_namespace_level() {
  m_call = m_client.get({"v1", "namespaces", "", m_name_space, ""}, {}, dry_run_retry, [this](const kube::Answer& answer) {
    if (!answer && answer.error().status != 403) return m_sink.done(answer.error().error);
    if (!answer)
      log(warning, "no permission to dry-run pods or read the namespace: cannot tell whether Pod Security admits them");
    else
      judge_label(text(at(metadata_of(*answer), "labels"), std::string(label)));
    m_sink.done({});
  });
}

void PodDryRun::judge_label(const std::string& level) {
  if (level.empty() || level == "privileged") return log(ok, "the namespace enforces no Pod Security level");
  log(warning, fmt::format("the namespace enforces Pod Security level {}; checking whether the program's container complies requires permission to "
                           "create pods; see job_options.security_context",
                           level));
  if (level != "restricted") return;
  for (const auto& pod : m_pods)
    if (const auto& injected = pod.injected; injected) report_injected(pod.type, *injected, "");
}

}  // namespace trainstep::cluster
