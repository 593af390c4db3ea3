// SPDX-License-Identifier: Apache-2.0
#include "cluster/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/claim_owners.h"
#include "cluster/quota_shortfalls.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

constexpr kube::Retry preflight_retry{Duration{30'000}};
using enum Finding::Severity;

std::string described(const Permission& right, const std::string& name_space) {
  auto text = fmt::format("no permission to {} in namespace {}", describe(right), name_space);
  if (right.needed) return text;
  return fmt::format("{}: {}", text, right.lost.empty() ? "the step works without it, but reports less" : right.lost);
}

}  // namespace

Preflight::Preflight(kube::Client& client, http::Transport& transport, const plan::Plan& plan, const Facts& facts, DataContext data,
                     std::string name_space, Sink sink)
    : m_client(client),
      m_transport(transport),
      m_plan(plan),
      m_facts(facts),
      m_data(std::move(data)),
      m_name_space(std::move(name_space)),
      m_sink(std::move(sink)) {
  m_submission =
      std::make_unique<Submission>(m_client, m_plan, m_facts, m_name_space, "",
                                   Submission::Sink{[](const std::string&) {}, [this](const Result<Submitted>& result) { submitted(result); }},
                                   nullptr, Submission::Depth::dry_run);
}

void Preflight::log(Finding::Severity severity, std::string text) {
  m_diagnosis.failed = m_diagnosis.failed || severity == error;
  m_sink.found({severity, std::move(text)});
}

void Preflight::submitted(const Result<Submitted>& result) {
  if (!result && result.error().kind == ErrorKind::unavailable) return m_sink.done(result.error());
  const auto resource = m_submission->resource();
  if (!result)
    log(error, result.error().message);
  else if (result->adopted)
    log(warning,
        fmt::format("{}/{} of this run already exists: the step would adopt it, or recreate it if it has failed", resource.plural, m_plan.job_name));
  else
    log(ok, fmt::format("{} {} would be accepted as {} of {}", m_plan.job_type, m_plan.job_name, resource.plural, resource.group_version));
  if (result) m_object = result->object;
  check_claim();
}

void Preflight::check_claim() {
  const auto begin = [this] {
    m_permissions = permissions_of(m_submission->resource(), m_facts);
    for (auto& right : data_permissions_of(m_plan, m_data)) m_permissions.push_back(std::move(right));
    ask(0);
  };
  if (m_plan.pvc_name.empty()) return begin();
  m_call = m_client.get({"v1", "persistentvolumeclaims", m_name_space, m_plan.pvc_name, ""}, {}, preflight_retry,
                        [this, begin](const kube::Answer& answer) {
                          m_data.claim_is_of_jobs = answer && is_made_for_jobs(*answer, m_plan.run_id);
                          if (answer || answer.error().status == 404)
                            m_data.claim_is_there = answer.has_value();
                          else if (answer.error().status != 403)
                            return m_sink.done(answer.error().error);
                          begin();
                        });
}

void Preflight::ask(std::size_t right) {
  if (right == m_permissions.size()) {
    if (m_diagnosis.missing.empty()) log(ok, fmt::format("all {} permissions in namespace {}", m_permissions.size(), m_name_space));
    return check_credentials();
  }
  const kube::Path reviews{"authorization.k8s.io/v1", "selfsubjectaccessreviews"};
  m_call = m_client.create(reviews, access_review(m_permissions[right], m_name_space), false, preflight_retry,
                           [this, right](const kube::Answer& answer) { answered(right, answer); });
}

void Preflight::answered(std::size_t right, const kube::Answer& answer) {
  if (!answer) return m_sink.done(answer.error().error);
  const auto& asked = m_permissions[right];
  if (!allowed(*answer)) {
    m_diagnosis.missing.push_back(asked);
    log(asked.needed ? error : warning, described(asked, m_name_space));
  }
  ask(right + 1);
}

// As a run does before it creates the job.
void Preflight::check_credentials() {
  const auto is_of_secrets = [](const Permission& right) { return right.resource == "secrets"; };
  if (std::ranges::any_of(m_diagnosis.missing, is_of_secrets)) return try_pods();
  StepData::Context context{m_client, m_transport, m_name_space, m_data.environment, {}, 0, [this](const std::string& line) { log(warning, line); }};
  context.retry = preflight_retry;
  m_step_data = std::make_unique<StepData>(m_plan, std::move(context));
  m_step_data->read_credentials([this](const Result<void>& found) {
    if (!found && found.error().kind == ErrorKind::unavailable) return m_sink.done(found.error());
    if (!found) log(error, found.error().message);
    try_pods();
  });
}

void Preflight::try_pods() {
  if (m_object.is_null()) return check_quotas();
  const auto found = [this](const Finding& finding) { log(finding.severity, finding.text); };
  m_pod_dry_run = std::make_unique<PodDryRun>(m_client, dry_run_pods(m_object, m_plan, m_submission->resource()), m_name_space,
                                              PodDryRun::Sink{found, [this](Result<void> done) {
                                                                if (!done) return m_sink.done(std::move(done.error()));
                                                                check_quotas();
                                                              }});
}

void Preflight::check_quotas() {
  m_call = m_client.list({"v1", "resourcequotas", m_name_space}, {}, preflight_retry, [this](const kube::Answer& answer) {
    if (!answer && answer.error().status != 403) return m_sink.done(answer.error().error);
    if (!answer) {
      log(warning, "no permission to read quotas: cannot tell whether they are sufficient");
    } else {
      const auto sentences = quota_shortfalls(*answer, job_types::find(m_plan.job_type).replicas(m_plan), m_plan.options.gpu_resource);
      for (const auto& sentence : sentences) log(warning, sentence + "; the job would wait");
      if (sentences.empty()) log(ok, (*answer)["items"].empty() ? "no quota" : "the quotas are sufficient");
    }
    m_sink.done(std::move(m_diagnosis));
  });
}

}  // namespace trainstep::cluster
