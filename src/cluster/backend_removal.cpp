// How a job goes: because the verdict ends it, or in the clean-up after the end.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cluster/backend.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "kinds/kind.h"

namespace trainstep::cluster {
namespace {

// A removal that the server does not take is tried for so long: a cancelled step has at most 30 s to live.
constexpr Duration removal_patience{25'000};
// How long the clean-up after the end is tried, and then waits for pods that take their time to stop.
constexpr Duration cleanup_patience{120'000};
constexpr Duration next_look{250};
constexpr int most_looks = 5;  // at a job that changes between each look and its DELETE; then it is deleted as it is

}  // namespace

void ClusterBackend::remove_job(const follow::RemoveJob& order) {
  m_removal_wanted = true;
  m_removal_at_once = order.at_once;
  if (!m_submitted && m_submission && m_submission->may_exist()) {
    // A DELETE that overtakes the create would find nothing: its answer is waited for (submitted() goes on).
    m_timer = m_client.loop().after(removal_patience, [this] { remove_and_report(); });
    return;
  }
  if (m_submitted) return remove_and_report();
  m_submission.reset();
  m_client.loop().post([this] { emit(follow::JobGone{}); });
}

void ClusterBackend::remove_and_report() {
  m_removal_ends.set(removal_patience);
  try_to_remove(1);
}

void ClusterBackend::try_to_remove(int tries) {
  const bool any_version = m_removal_at_once || tries > most_looks;
  const kube::Preconditions seen{m_uid, any_version ? "" : m_version};
  m_call = m_client.remove(job_path(), kube::Propagation::foreground, seen, {Duration(0)}, [this, tries, any_version](const kube::Answer& answer) {
    if (answer || answer.error().status == 404) return removed();
    const auto& problem = answer.error();
    if (problem.status == 409) return any_version ? removed() : look_before_removal(tries + 1);
    if (problem.status == 0) m_removal_ends.set(removal_patience);
    const bool may_help = problem.status == 0 || problem.status == 401 || kube::retryable(problem);
    if (!may_help || (problem.status != 0 && m_removal_ends.passed())) return emit(follow::BackendFailed{problem.error});
    m_timer = m_client.loop().after(m_client.pause(tries, problem.retry_after), [this, tries] { look_before_removal(tries + 1); });
  });
}

// A DELETE that had no answer for seconds, or came too late, must not hit a job that has succeeded meanwhile and belongs to a Workflow.
void ClusterBackend::look_before_removal(int tries) {
  m_call = m_client.get(job_path(), {}, {Duration(0)}, [this, tries](const kube::Answer& answer) {
    if (!answer && answer.error().status == 0) {  // nor would a DELETE be heard
      m_removal_ends.set(removal_patience);
      m_timer = m_client.loop().after(m_client.pause(tries), [this, tries] { look_before_removal(tries + 1); });
      return;
    }
    const bool known = answer && uid_of(*answer) == m_uid;
    if (answer ? !known : answer.error().status == 404) return removed();
    if (known) m_version = text(metadata_of(*answer), "resourceVersion");
    const bool spared = known && m_facts.workflow && m_plan.options.cleanup == "default" &&
                        kinds::find(m_plan.kind).judge(*answer).state == kinds::Judgement::State::succeeded;
    if (!spared) return try_to_remove(tries);
    m_removal_wanted = false;
    tell("the job has succeeded meanwhile: it is left to its workflow");
    emit(follow::JobGone{});
  });
}

void ClusterBackend::removed() {
  m_gone = true;
  emit(follow::JobGone{});
}

void ClusterBackend::remove_found(std::function<void(std::optional<kube::ApiError>)> done) {
  m_call =
      m_client.remove(job_path(), kube::Propagation::foreground, {m_uid}, {cleanup_patience, false}, [done = std::move(done)](kube::Answer answer) {
        // 404: it is gone; 409: the name belongs to another object now.
        if (answer || answer.error().status == 404 || answer.error().status == 409) return done(std::nullopt);
        done(std::move(answer.error()));
      });
}

void ClusterBackend::conclude(const result::Verdict& verdict, std::function<void(std::string)> done) {
  m_watches.clear();
  m_logs.clear();
  m_removal_ends.set(cleanup_patience);
  using enum result::VerdictClass;
  const auto& cleanup = m_plan.options.cleanup;
  const bool succeeded_well = verdict.verdict_class == succeeded;
  const bool keep = verdict.verdict_class == interrupted || cleanup == "never" || (cleanup == "on_success" && !succeeded_well);
  if (!m_submitted || (m_gone && !m_removal_wanted)) return done("");
  if (verdict.verdict_class == cancelled) return done("");  // its removal is accepted; nobody waits for it
  if (m_removal_wanted && m_gone) return await_gone(std::move(done));
  const bool owner_cleans = m_facts.workflow && cleanup == "default";
  if (!m_removal_wanted && (keep || owner_cleans)) return verdict.verdict_class == interrupted ? done("") : mark(verdict, std::move(done));
  remove_found([this, done = std::move(done)](const std::optional<kube::ApiError>& problem) {
    if (problem) return done(fmt::format("the job could not be deleted: {}", problem->error.message));
    m_removal_ends.set(cleanup_patience);
    await_gone(done);
  });
}

void ClusterBackend::mark(const result::Verdict& verdict, std::function<void(std::string)> done) {
  const Json patch = {{"metadata", {{"uid", m_uid}, {"annotations", {{outcome_annotation, std::string(result::name(verdict.verdict_class))}}}}}};
  m_call = m_client.merge_patch(job_path(), patch, {cleanup_patience, false}, [done = std::move(done)](kube::Answer answer) {
    // 404: it is gone; 422: the name belongs to another object now.
    if (answer || answer.error().status == 404 || answer.error().status == 422) return done("");
    done(fmt::format("the job could not be marked as done: {}", answer.error().error.message));
  });
}

void ClusterBackend::await_gone(std::function<void(std::string)> done) {
  m_call = m_client.get(job_path(), {}, {removal_patience, false}, [this, done = std::move(done)](kube::Answer answer) {
    if (!answer && answer.error().status == 404) return done("");
    if (answer && uid_of(*answer) != m_uid) return done("");
    if (m_removal_ends.passed()) return done("the job is being deleted, but its pods have not all ended yet");
    m_timer = m_client.loop().after(next_look, [this, done] { await_gone(done); });
  });
}

}  // namespace trainstep::cluster
