// ClusterBackend: removes the job, because the verdict ends it, or in the cleanup after the end.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cluster/backend.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

// How long a removal that the server rejects is retried: a cancelled step has at most 30 s to live.
constexpr Duration removal_timeout{25'000};
// How long the cleanup after the end is retried, and then waits for pods that stop slowly.
constexpr Duration cleanup_timeout{120'000};
// … and how long for an API server that does not respond at all.
constexpr Duration cleanup_silence{900'000};
// How long the response to a create is waited for before the job is looked for by its name.
constexpr Duration create_timeout{1'000};
constexpr Duration look_for_create{1'000};
constexpr Duration claim_timeout{5'000};
constexpr int most_moments = 6;  // refusals that may be temporary: ten seconds

// What a cleanup could not do; empty: nothing.
std::string what_is_left(const Removal::Outcome& outcome, const std::string& run) {
  const auto because = outcome.problem ? ": " + outcome.problem->error.message : std::string();
  if (outcome.end == Removal::End::failed) return "the job could not be deleted and may still exist; trainstep stop " + run + " deletes it" + because;
  if (outcome.end != Removal::End::taken) return "";
  if (outcome.problem) return "the job is being deleted, but whether it is gone is unknown" + because;
  return fmt::format("the job is being deleted, but is not gone yet: it waits for {}", what_remains(outcome.last));
}

}  // namespace

void ClusterBackend::remove_job(const follow::RemoveJob& order) {
  if (m_looks_on) return emit(follow::BackendFailed{internal_error("jobs of other steps are never deleted")});
  stop_keeping();
  m_removal_wanted = true;
  m_removal_at_once = order.at_once;
  m_unless_succeeded = order.unless_succeeded;
  m_removal_ends.set(m_dies_at ? std::min(removal_timeout, time_left() * 3 / 4) : removal_timeout);
  if (m_dies_at) m_keep_timer = m_client.loop().timer(time_left(), [this] { out_of_time(); });
  m_submitted ? try_to_remove() : find_job();
}

// The response to a pending create has the uid; if it does not come soon, the job is looked for by its name.
void ClusterBackend::find_job() {
  const bool creating = m_submission && m_submission->creating();
  m_timer = m_client.loop().timer(creating ? create_timeout : Duration(0), [this] { try_to_find(1); });
}

void ClusterBackend::try_to_find(int tries) {
  std::optional<job_types::Resource> served;
  if (m_submission) {
    served = m_submission->served();
    if (const auto unsettled = m_submission->unsettled(); unsettled > Duration(0)) m_settled.set(unsettled);
    m_created_once = m_submission->created_once();
    m_resource = m_submission->resource();
    m_submission.reset();
  }
  if (!m_settled.is_set() && m_plan.fresh_run) {  // no attempt before this one, and no create
    m_client.loop().post([this] { found(std::nullopt); });
    return;
  }
  m_search = std::make_unique<JobSearch>(m_client, m_plan, m_name_space, served, [this, tries](JobSearch::Answer answer) {
    if (answer) return found(std::move(*answer));
    const auto problem = std::move(answer.error());
    if (!may_help(problem, tries)) {
      if (m_keep_wanted) return cannot_keep(problem.error.message);
      stop_keeping();
      return emit(follow::BackendFailed{problem.error});
    }
    if (tries > 1) m_client.failing(this, problem);
    m_timer = m_client.loop().timer(removal_pause(tries, problem), [this, tries] { try_to_find(tries + 1); });
  });
}

// It has no response, and nothing shows what became of it.
bool ClusterBackend::create_is_out() const { return m_settled.is_set() && !m_settled.passed() && !m_create_seen; }

// The pod of a step has less time than a create may take in the worst case.
bool ClusterBackend::create_may_come() const { return create_is_out() && (m_facts.pod.empty() || !m_removal_ends.passed()); }

// A job with the id of this run, but with other inputs: not created by an attempt of this step, unless it belongs to our own Workflow. One that says
// nothing about its inputs may come from our create, and have lost our annotations on the way.
bool ClusterBackend::is_another_steps(const Json& job) const {
  const auto existing = judge_existing(job, m_plan, job_types::find(m_plan.job_type), m_attempt, m_order->began());
  if (existing == Existing::unknown_spec) return !m_settled.is_set();
  const bool of_our_workflow = m_facts.workflow && is_of_workflow(job, *m_facts.workflow);
  return existing == Existing::other_spec && !of_our_workflow;
}

void ClusterBackend::found(std::optional<JobSearch::Found> job) {
  m_client.works(this);
  if (job && is_another_steps(job->object)) {
    tell(fmt::format("{}/{} exists for this run, but may have other inputs; leaving it unchanged", job->resource.plural, m_plan.job_name));
    m_gone = true;
    return m_keep_wanted ? kept() : emit(follow::JobGone{});
  }
  const bool going = job && at(metadata_of(job->object), "deletionTimestamp") != nullptr;
  if (job && !(going && uid_of(job->object) == m_uid)) {
    m_submitted = Submitted{job->resource, std::move(job->object), true};
    m_resource = job->resource;
    m_uid = uid_of(m_submitted->object);
    m_create_seen = m_created_once && text(at(metadata_of(m_submitted->object), "annotations"), attempt_annotation) == m_attempt;
    m_deleted = false;
    know_follower(m_submitted->object);
    look_at_keeping(m_submitted->object);
    return go_on_with_found();
  }
  if (create_may_come()) {
    m_timer = m_client.loop().timer(look_for_create, [this] { try_to_find(1); });
    return;
  }
  if (m_keep_wanted) return kept();
  if (!create_is_out() && m_uid.empty() && !m_plan.fresh_run) tell("no job of this run");
  job_has_gone();
}

void ClusterBackend::go_on_with_found() {
  if (m_keep_wanted) return lease_job();
  if (!m_removal_at_once && has_succeeded_for_somebody(m_submitted->object)) return spared(m_submitted->object);
  m_removal_ends.set(removal_timeout);
  try_to_remove();
}

// Whether a refused request may succeed later: an unreachable server is waited for, one that responds only for so long.
bool ClusterBackend::may_help(const kube::ApiError& problem, int tries) {
  if (kube::lacks_token(problem)) return !m_removal_ends.passed();
  if (problem.status == 0) m_removal_ends.set(removal_timeout);
  const bool momentary = kube::is_of_the_moment(problem, m_plan.job_name) && tries <= most_moments;
  const bool later = momentary || problem.status == 0 || problem.status == 401 || kube::retryable(problem);
  return later && (problem.status == 0 || !m_removal_ends.passed());
}

// A longer pause requested by a server must not cost what a step still has to do.
Duration ClusterBackend::removal_pause(int tries, const kube::ApiError& problem) {
  return std::min(m_client.pause(tries, problem.retry_after), removal_timeout / 4);
}

// This attempt may have been lost, and its process survived: then another one follows the job. Neither a signal nor a late report of a watch about
// the Workflow tells; whether the job has changed since it was seen, the API server tells by its version.
void ClusterBackend::try_to_remove() {
  if (m_taken_over && (!m_removal_at_once || m_later)) {
    m_timer = m_client.loop().timer(Duration(0), [this] { left_to_follower(is_followed); });
    return;
  }
  leaves_claim() ? hand_on_claim([this] { remove_seen(); }) : remove_seen();
}

void ClusterBackend::remove_seen() {
  Removal::Order order{job_path(), m_uid, m_version};
  order.timeout = m_dies_at ? std::min(removal_timeout, time_left() * 3 / 4) : removal_timeout;
  // A DELETE that had no response for seconds, or came too late, must not hit a job whose success counts.
  order.spares = [this](const Json& job) { return is_anothers(job) || has_succeeded_for_somebody(job); };
  m_removal = std::make_unique<Removal>(m_client, std::move(order),
                                        Removal::Sink{[this](const kube::ApiError& problem) { removal_fails(problem); },
                                                      {},
                                                      [this](Removal::Outcome outcome) { removal_ended(std::move(outcome)); }});
}

// A cancel of the run ends the job whoever follows it, except a later attempt, which is told of the cancel as well – unless the cancel is an old one.
bool ClusterBackend::is_anothers(const Json& job) const { return m_removal_at_once ? m_order->is_later(job) : is_taken_over(job); }

bool ClusterBackend::has_succeeded_for_somebody(const Json& job) const {
  const bool for_workflow = m_facts.workflow && m_plan.options.cleanup == "default";
  return (m_unless_succeeded || for_workflow) && judgement_of(job).state == job_types::Judgement::State::succeeded;
}

job_types::Judgement ClusterBackend::judgement_of(const Json& job) const { return job_types::find(m_plan.job_type).judge(job); }

void ClusterBackend::spared(const Json& job) {
  m_removal_wanted = false;
  m_keep_timer.cancel();
  if (m_unless_succeeded) return emit(follow::JobSpared{judgement_of(job)});
  tell("the job has succeeded in the meantime; leaving it to its workflow");
  emit(follow::JobGone{});
}

void ClusterBackend::left_to_follower(std::string_view why) {
  m_removal_wanted = false;
  m_keep_timer.cancel();
  tell(std::string(why));
  emit(follow::JobFollowed{});
}

void ClusterBackend::removal_fails(const kube::ApiError& problem) {
  if (problem.status == 0 && !kube::lacks_token(problem)) m_removal_ends.set(removal_timeout);
  if (problem.status == 0 || kube::retryable(problem)) return m_client.failing(this, problem);
  if (!std::exchange(m_refusal_told, true)) tell(fmt::format("{}; trying again", problem.error.message));
}

void ClusterBackend::removal_ended(Removal::Outcome outcome) {
  m_client.works(this);
  if (outcome.end == Removal::End::failed) {
    stop_keeping();
    return emit(follow::BackendFailed{outcome.problem->error});
  }
  if (outcome.end == Removal::End::spared) {
    if (is_anothers(outcome.last)) return left_to_follower(is_followed);
    return spared(outcome.last);
  }
  if (outcome.end == Removal::End::taken) tell("the job is deleted");
  m_deleted = m_deleted || outcome.end == Removal::End::taken;
  removed();
}

// A create whose response was lost may take effect after the DELETE: one more look when that is no longer possible.
void ClusterBackend::removed() {
  const bool in_time = m_facts.pod.empty() || !m_removal_ends.passed();
  if (create_may_come() || (m_settled.is_set() && !m_create_seen && in_time && !std::exchange(m_looked_at_last, true))) {
    m_timer = m_client.loop().timer(look_for_create, [this] { try_to_find(1); });
    return;
  }
  job_has_gone();
}

void ClusterBackend::job_has_gone() {
  if (create_is_out()) tell(std::string(may_appear));
  m_gone = true;
  emit(follow::JobGone{});
}

// A pod that is about to be killed still has lines to log.
Duration ClusterBackend::time_for_cleanup() const { return m_dies_at ? std::min(cleanup_timeout, time_left() * 3 / 4) : cleanup_timeout; }

void ClusterBackend::conclude(const result::Verdict& verdict, std::function<void(std::string)> tell, std::function<void(std::string)> done) {
  m_cleanup_tell = std::move(tell);
  m_watches.clear();
  m_logs.clear();
  stop_keeping();
  m_removal_ends.set(time_for_cleanup());
  using enum result::VerdictClass;
  const auto& cleanup = m_plan.options.cleanup;
  const bool succeeded_well = verdict.verdict_class == succeeded;
  const bool keep = verdict.verdict_class == interrupted || cleanup == "never" || (cleanup == "on_success" && !succeeded_well);
  if (!m_submitted || (m_gone && !m_removal_wanted)) return done("");
  const bool owner_cleans = m_facts.workflow && cleanup == "default";
  const bool goes = verdict.verdict_class == cancelled || (succeeded_well && !keep && !owner_cleans);
  if (goes && m_facts.workflow && !m_plan.pvc_name.empty()) done = [this, done](const std::string& problem) { release_claim(done, problem); };
  if (verdict.verdict_class == cancelled && !m_awaits_pods) return done("");  // its removal is accepted; nobody waits for it
  if (m_removal_wanted && m_gone) return remove_to_the_end(true, std::move(done));
  if (!m_removal_wanted && (keep || owner_cleans)) return verdict.verdict_class == interrupted ? done("") : mark(verdict, std::move(done));
  if (succeeded_well || !leaves_claim()) return remove_when_settled(std::move(done));
  hand_on_claim([this, done = std::move(done)] { remove_when_settled(done); });
}

// The claim that was created for the job is for the next attempt, but has no owner that outlives the job. A process that is about to be killed has no
// time for that.
bool ClusterBackend::leaves_claim() const {
  return !m_plan.pvc_name.empty() && !m_facts.workflow && m_facts.retry != Retry::none && !m_removal_at_once && !m_dies_at;
}

void ClusterBackend::hand_on_claim(std::function<void()> then) {
  const auto change = [this](const Json& claim) { return handed_on(claim, m_uid, Json::array(), m_plan.run_id); };
  m_claim_change = std::make_unique<ClaimChange>(
      m_client, claim_path(), kube::Retry{claim_timeout}, change, [this, then = std::move(then)](const std::optional<kube::ApiError>& problem) {
        if (problem) m_cleanup_tell ? m_cleanup_tell(goes_with_job(m_plan.pvc_name, *problem)) : tell(goes_with_job(m_plan.pvc_name, *problem));
        then();
      });
}

// Otherwise the claim that was created for the job would stay until the Workflow is deleted.
void ClusterBackend::release_claim(std::function<void(std::string)> done, const std::string& problem) {
  Json job = {{"apiVersion", m_resource.group_version}, {"kind", m_resource.kind}, {"metadata", {{"name", m_plan.job_name}, {"uid", m_uid}}}};
  own(job, m_facts);
  const auto change = [job, run = m_plan.run_id](const Json& claim) { return is_made_for_jobs(claim, run) ? released(claim, job) : Json(); };
  m_claim_change = std::make_unique<ClaimChange>(
      m_client, claim_path(), kube::Retry{std::min(claim_timeout, time_for_cleanup())}, change,
      [this, done = std::move(done), problem](const std::optional<kube::ApiError>& refusal) {
        if (refusal) m_cleanup_tell(fmt::format("claim {} stays until the Workflow is deleted: {}", m_plan.pvc_name, refusal->error.message));
        done(problem);
      });
}

// While a create whose response was lost may still take effect, the job keeps the name that it would take.
void ClusterBackend::remove_when_settled(std::function<void(std::string)> done) {
  if (create_may_come()) {
    m_timer = m_client.loop().timer(look_for_create, [this, done = std::move(done)] { remove_when_settled(done); });
    return;
  }
  remove_to_the_end(false, std::move(done));
}

void ClusterBackend::mark(const result::Verdict& verdict, std::function<void(std::string)> done) {
  Json patch = {{"metadata", {{"uid", m_uid}, {"annotations", {{outcome_annotation, std::string(result::name(verdict.verdict_class))}}}}}};
  if (m_data_goes) patch["metadata"]["annotations"][data_annotation] = "gone";
  m_call = m_client.merge_patch(job_path(), patch, {time_for_cleanup(), false}, [this, done = std::move(done)](const kube::Answer& answer) {
    // 422: the name belongs to another object now.
    if (answer || kube::tells_absent(answer.error(), m_plan.job_name) || answer.error().status == 422) return done("");
    done(fmt::format("the job could not be marked as done: {}", answer.error().error.message));
  });
}

void ClusterBackend::remove_to_the_end(bool taken, std::function<void(std::string)> done) {
  Removal::Order order{job_path(), m_uid};
  order.timeout = time_for_cleanup();
  order.silence = m_dies_at ? order.timeout : cleanup_silence;
  order.taken = taken;
  order.to_the_end = true;
  order.end_timeout = time_for_cleanup();
  const auto failing = [this](const kube::ApiError& problem) {
    if (std::exchange(m_cleanup_told, true)) return;
    const auto& why = problem.error.message;
    m_cleanup_tell(problem.status == 0 ? fmt::format("cannot reach the API server ({}); waiting to delete the job", why)
                                       : fmt::format("the job is not deleted yet ({}); trying again", why));
  };
  const auto remains = [this](const Json& job) { m_cleanup_tell(fmt::format("waiting for the deleted job to end: {}", what_remains(job))); };
  m_removal = std::make_unique<Removal>(m_client, std::move(order),
                                        Removal::Sink{failing, remains, [this, done = std::move(done)](const Removal::Outcome& outcome) {
                                                        done(what_is_left(outcome, m_plan.run_id));
                                                      }});
}

}  // namespace trainstep::cluster
