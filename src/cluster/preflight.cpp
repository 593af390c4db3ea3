// SPDX-License-Identifier: Apache-2.0
#include "cluster/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/claim_owners.h"
#include "cluster/node_sizes.h"
#include "cluster/quota_shortfalls.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

constexpr kube::Retry preflight_retry{Duration{30'000}};
using enum Finding::Severity;

// As quotas and the Role name it: "jobs.batch".
std::string qualified(const job_types::Resource& resource) { return fmt::format("{}.{}", resource.plural, group_of(resource.group_version)); }

std::string described(const Permission& right, const std::string& place) {
  auto text = fmt::format("no permission to {} in {}", describe(right), place);
  if (right.needed) return text;
  return fmt::format("{}: {}", text, right.lost.empty() ? "the step works without it, but reports less" : right.lost);
}

}  // namespace

Preflight::Preflight(Context context, Sink sink)
    : m_context(std::move(context)),
      m_client(m_context.job.client),
      m_plan(m_context.plan),
      m_name_space(m_context.job.name_space),
      m_sink(std::move(sink)) {
  m_submission =
      std::make_unique<Submission>(m_client, m_plan, m_context.facts, m_name_space, "",
                                   Submission::Sink{[](const std::string&) {}, [this](const Result<Submitted>& result) { submitted(result); }},
                                   nullptr, Submission::Depth::dry_run);
}

std::string Preflight::shown(const Side& side) const {
  return fmt::format("namespace {}{}{}", side.name_space, is_apart() ? " of " : "", is_apart() ? side.where : "");
}

void Preflight::log(Finding::Severity severity, std::string text) {
  if (severity == error) m_diagnosis.refusals.push_back(text);
  m_sink.found({severity, std::move(text)});
}

void Preflight::submitted(const Result<Submitted>& result) {
  if (!result && result.error().kind == ErrorKind::unavailable) return m_sink.done(result.error());
  const auto resource = m_submission->resource();
  m_is_there = result && result->adopted;
  m_exceeds_a_quota = !result && result.error().message.find("exceeded quota") != std::string::npos;
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
    m_permissions = permissions_of(m_submission->resource(), m_context.step_facts);
    for (auto& right : data_permissions_of(m_plan, m_context.data)) m_permissions.push_back(std::move(right));
    ask_for_permissions();
  };
  if (m_plan.pvc_name.empty()) return begin();
  m_call = m_client.get({"v1", "persistentvolumeclaims", m_name_space, m_plan.pvc_name, ""}, {}, preflight_retry,
                        [this, begin](const kube::Answer& answer) {
                          m_context.data.claim_is_of_jobs = answer && is_made_for_jobs(*answer, m_plan.run_id);
                          if (answer || answer.error().status == 404)
                            m_context.data.claim_is_there = answer.has_value();
                          else if (answer.error().status != 403)
                            return m_sink.done(answer.error().error);
                          begin();
                        });
}

// All at once: another cluster may be far away.
void Preflight::ask_for_permissions() {
  const kube::Path reviews{"authorization.k8s.io/v1", "selfsubjectaccessreviews"};
  m_reviews.resize(m_permissions.size());
  m_unanswered = m_reviews.size();
  for (std::size_t right = 0; right < m_permissions.size(); ++right) {
    const auto& side = side_of(m_permissions[right]);
    m_reviews[right].call = side.client.create(reviews, access_review(m_permissions[right], side.name_space), false, preflight_retry,
                                               [this, right](const kube::Answer& answer) { answered(right, answer); });
  }
}

void Preflight::answered(std::size_t right, const kube::Answer& answer) {
  if (!answer) {
    const auto problem = answer.error().error;
    m_reviews.clear();
    return m_sink.done(problem);
  }
  m_reviews[right].answer = *answer;
  if (--m_unanswered > 0) return;
  for (std::size_t each = 0; each < m_reviews.size(); ++each) judge(m_permissions[each], m_reviews[each].answer);
  if (m_diagnosis.missing.empty()) report_permissions();
  ask_for_pods();
}

void Preflight::judge(const Permission& right, const Json& review) {
  if (const auto why = undecided(review); !why.empty()) {
    log(warning, fmt::format("cannot tell whether there is a permission to {} in {}: {}", describe(right), shown(side_of(right)), why));
  } else if (!allowed(review)) {
    m_diagnosis.missing.add(right);
    m_sink.found({right.needed ? error : warning, described(right, shown(side_of(right)))});
  }
}

void Preflight::report_permissions() {
  const auto of_step = static_cast<std::size_t>(std::ranges::count_if(m_permissions, &Permission::of_step));
  if (!is_apart()) return log(ok, fmt::format("all {} permissions in {}", m_permissions.size(), shown(m_context.job)));
  if (of_step > 0) log(ok, fmt::format("all {} permissions in {}", of_step, shown(m_context.step)));
  log(ok, fmt::format("all {} permissions in {}", m_permissions.size() - of_step, shown(m_context.job)));
}

// The agent in the pods looks at the Lease as their service account.
void Preflight::ask_for_pods() {
  if (!m_plan.data.task.lease.wanted()) return name_subject(true);
  const auto right = permission_of_pods();
  const auto account = account_of_pods(m_plan);
  m_call = m_client.create({"authorization.k8s.io/v1", "localsubjectaccessreviews", m_name_space}, access_review(right, m_name_space, account), false,
                           preflight_retry, [this, right, account](const kube::Answer& answer) {
                             if (!answer || !allowed(*answer)) {
                               m_diagnosis.missing.add_pods(account);
                               const auto* known = answer ? "no permission" : "perhaps no permission";
                               log(warning,
                                   fmt::format("{} to {} in {} for the service account {} of the pods: if the step vanishes, nothing ends its job",
                                               known, describe(right), shown(m_context.job), account));
                             }
                             name_subject(true);
                           });
}

// Who lacks a permission. Servers before 1.28 do not say.
void Preflight::name_subject(bool of_step) {
  const auto next = [this, of_step] { of_step ? name_subject(false) : check_credentials(); };
  if (m_diagnosis.missing.of(of_step).empty()) return next();
  m_call = (of_step ? m_context.step : m_context.job)
               .client.create({"authentication.k8s.io/v1", "selfsubjectreviews"}, subject_review(), false, preflight_retry,
                              [this, of_step, next](const kube::Answer& answer) {
                                if (answer) m_diagnosis.missing.set_subject(of_step, subject_of(*answer));
                                next();
                              });
}

// As a run does before it creates the job.
void Preflight::check_credentials() {
  if (m_diagnosis.missing.lacks_secrets()) return try_pods();
  StepData::Context context{
      m_context.step.client, m_context.transport, m_context.step.name_space, m_context.data.environment, {}, 0, [this](const std::string& line) {
        log(warning, line);
      }};
  context.retry = preflight_retry;
  if (m_context.add_keys) m_context.add_keys(context);
  m_step_data = std::make_unique<StepData>(m_plan, std::move(context));
  m_step_data->read_credentials([this](const Result<void>& found) {
    if (!found && found.error().kind == ErrorKind::unavailable) return m_sink.done(found.error());
    if (!found) log(error, found.error().message);
    try_pods();
  });
}

void Preflight::try_pods() {
  if (m_object.is_null()) return check_quotas();
  m_pods = dry_run_pods(m_object, m_plan, m_submission->resource());
  const auto found = [this](const Finding& finding) { log(finding.severity, finding.text); };
  m_pod_dry_run = std::make_unique<PodDryRun>(m_client, m_pods, m_name_space, PodDryRun::Sink{found, [this](Result<void> done) {
                                                                                                if (!done)
                                                                                                  return m_sink.done(std::move(done.error()));
                                                                                                check_quotas();
                                                                                              }});
}

void Preflight::check_quotas() {
  m_call = m_client.list({"v1", "resourcequotas", m_name_space}, {}, preflight_retry, [this](const kube::Answer& answer) {
    if (!answer && answer.error().status != 403) return m_sink.done(answer.error().error);
    if (!answer)
      log(warning, "no permission to read quotas: cannot tell whether they are sufficient");
    else
      compare_quotas(*answer);
    check_nodes();
  });
}

// A quota may reject what the step creates; its controllers try again with what they create.
void Preflight::compare_quotas(const Json& quotas) {
  QuotaNeeds of_step, of_lease;
  if (!m_is_there && !m_exceeds_a_quota) add_objects(of_step, qualified(m_submission->resource()));
  if (!m_is_there && !m_context.data.keys_copy.empty()) add_objects(of_step, "secrets");
  if (m_context.data.claim_is_there == false) add_claim(of_step, m_plan.pvc_size);
  if (!m_is_there && m_plan.data.task.lease.wanted()) add_objects(of_lease, "leases.coordination.k8s.io");
  const auto rejected = quota_shortfalls(quotas, of_step);
  const auto unleased = quota_shortfalls(quotas, of_lease);
  const auto awaited = quota_shortfalls(quotas, needs_of_pods(m_plan, m_submission->resource()));
  for (const auto& sentence : rejected) log(error, sentence + "; the step would fail");
  for (const auto& sentence : unleased) log(warning, sentence + "; if the step vanishes, nothing ends its job");
  report_waits(awaited);
  if (rejected.empty() && unleased.empty() && awaited.empty() && !m_exceeds_a_quota)
    log(ok, quotas.contains("items") && quotas["items"].empty() ? "no quota" : "the quotas are sufficient");
}

void Preflight::report_waits(const std::vector<std::string>& sentences) {
  for (const auto& sentence : sentences) {
    log(warning, sentence + "; the job would wait");
    m_diagnosis.waits.push_back(sentence);
  }
}

// Few accounts may list nodes; nothing is said without that permission.
void Preflight::check_nodes() {
  if (m_pods.empty()) return m_sink.done(std::move(m_diagnosis));
  m_call = m_client.list({"v1", "nodes"}, {}, preflight_retry,
                         [this](const kube::Answer& answer) {
                           if (answer) {
                             const auto sentences = pods_without_node(m_pods, *answer);
                             report_waits(sentences);
                             if (sentences.empty()) log(ok, "each pod fits on a node");
                           }
                           m_sink.done(std::move(m_diagnosis));
                         },
                         {.trim = trim_node});
}

}  // namespace trainstep::cluster
