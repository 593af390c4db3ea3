// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_cleanup.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/ownership.h"

namespace trainstep::cluster {
namespace {

// How long the cleanup is retried, and then waits for pods that stop slowly.
constexpr Duration cleanup_timeout{120'000};
// … and how long for an API server that does not respond at all.
constexpr Duration cleanup_silence{900'000};
constexpr Duration look_for_settled{1'000};
constexpr Duration mark_due{5'000};

// What a cleanup could not do; empty: nothing.
std::string what_is_left(const Removal::Outcome& outcome, const std::string& run) {
  const auto because = outcome.problem ? ": " + outcome.problem->error.message : std::string();
  if (outcome.end == Removal::End::failed) return "the job could not be deleted and may still exist; trainstep stop " + run + " deletes it" + because;
  if (outcome.end != Removal::End::taken) return "";
  if (outcome.problem) return "the job is being deleted, but it is unknown whether it is gone" + because;
  return fmt::format("the job is being deleted, but still exists; waiting for {}", what_remains(outcome.last));
}

}  // namespace

JobCleanup::JobCleanup(kube::Client& client, const plan::Plan& plan, const Facts& facts, const TimeLeft& time, Job job, Sink sink)
    : m_client(client),
      m_plan(plan),
      m_facts(facts),
      m_time(time),
      m_job(std::move(job)),
      m_sink(std::move(sink)),
      m_claim(client, plan, facts, m_job.path.name_space) {}

Duration JobCleanup::time_for_it(const TimeLeft& time) { return time.at_most(cleanup_timeout); }

void JobCleanup::begin(const result::Verdict& verdict) {
  using enum result::VerdictClass;
  const auto& cleanup = m_plan.options.cleanup;
  const bool has_succeeded = verdict.verdict_class == succeeded;
  const bool keep = verdict.verdict_class == interrupted || cleanup == "never" || (cleanup == "on_success" && !has_succeeded);
  const bool owner_cleans = m_facts.workflow && cleanup == "default";
  const bool goes = verdict.verdict_class == cancelled || (has_succeeded && !keep && !owner_cleans);
  m_releases_claim = goes && m_facts.workflow && m_claim.exists();
  if (verdict.verdict_class == cancelled && !m_job.awaits_pods) return finish("");  // its removal is accepted, and not waited for
  if (m_job.removed) return remove_to_the_end();
  if (!m_job.removing && (keep || owner_cleans)) return verdict.verdict_class == interrupted ? finish("") : mark(verdict);
  const bool leaves_claim = m_claim.is_for_next() && !m_job.at_once && !m_time.is_limited();
  if (has_succeeded || !leaves_claim) return remove_when_settled();
  m_claim.hand_on(m_job.uid, m_sink.log, [this] { remove_when_settled(); });
}

void JobCleanup::mark(const result::Verdict& verdict) {
  Json patch = {{"metadata", {{"uid", m_job.uid}, {"annotations", {{outcome_annotation, std::string(result::name(verdict.verdict_class))}}}}}};
  if (m_job.data_will_be_deleted) patch["metadata"]["annotations"][data_annotation] = "gone";
  m_timer = m_client.loop().timer(mark_due, [this] { wait_for_mark(); });
  m_call = m_client.merge_patch(m_job.path, patch, {time_for_it(m_time), false}, [this](const kube::Answer& answer) {
    m_timer.cancel();
    // 422: the name belongs to another object now.
    if (answer || kube::tells_absent(answer.error(), m_job.path.name) || answer.error().status == 422) return finish("");
    finish(fmt::format("the job could not be marked as done: {}", answer.error().error.message));
  });
}

// A server that takes no changes may answer everything else.
void JobCleanup::wait_for_mark() {
  m_sink.log("waiting for the API server to mark the job as done");
  m_timer = m_client.loop().timer(cleanup_silence, [this] {
    m_call = {};
    finish(fmt::format("the job could not be marked as done: no answer for {}", trainstep::describe(cleanup_silence)));
  });
}

// While a create whose response was lost may still take effect, the job keeps the name that it would take.
void JobCleanup::remove_when_settled() {
  if (!m_sink.create_may_take_effect()) return remove_to_the_end();
  if (!std::exchange(m_wait_logged, true)) m_sink.log("waiting to delete the job: a create whose answer was lost may still take effect");
  m_timer = m_client.loop().timer(look_for_settled, [this] { remove_when_settled(); });
}

void JobCleanup::remove_to_the_end() {
  Removal::Order order{m_job.path, m_job.uid};
  order.timeout = time_for_it(m_time);
  order.silence = m_time.is_limited() ? order.timeout : cleanup_silence;
  order.taken = m_job.removed;
  order.to_the_end = true;
  order.end_timeout = time_for_it(m_time);
  const auto failing = [this](const kube::ApiError& problem) {
    if (std::exchange(m_failing_told, true)) return;
    const auto& why = problem.error.message;
    m_sink.log(problem.status == 0 ? fmt::format("cannot reach the API server ({}); waiting to delete the job", why)
                                   : fmt::format("the job is not deleted yet ({}); trying again", why));
  };
  const auto remains = [this](const Json& job) { m_sink.log(fmt::format("waiting for the deleted job to end: {}", what_remains(job))); };
  const auto ended = [this](const Removal::Outcome& outcome) { finish(what_is_left(outcome, m_plan.run_id)); };
  m_removal = std::make_unique<Removal>(m_client, std::move(order), Removal::Sink{failing, remains, ended});
}

void JobCleanup::finish(std::string problem) {
  if (!m_releases_claim) return m_sink.done(std::move(problem));
  Json job = {{"apiVersion", m_job.path.group_version}, {"kind", m_job.kind}, {"metadata", {{"name", m_job.path.name}, {"uid", m_job.uid}}}};
  m_claim.release(std::move(job), time_for_it(m_time), m_sink.log, [this, problem = std::move(problem)] { m_sink.done(problem); });
}

}  // namespace trainstep::cluster
