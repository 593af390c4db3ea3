// SPDX-License-Identifier: Apache-2.0
#include "cluster/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cluster/agreed_clock.h"
#include "cluster/data.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "follow/reasons.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

// How long a removal that the server rejects is retried: a cancelled step is killed after at most 30 s.
constexpr Duration removal_timeout{25'000};
// How long the response to a create is waited for before the job is looked for by its name.
constexpr Duration create_timeout{1'000};
constexpr Duration look_for_create{1'000};
constexpr int max_transient_errors = 6;  // refusals that may be temporary: ten seconds

}  // namespace

ClusterBackend::ClusterBackend(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt,
                               std::optional<Submitted> existing)
    : m_client(client),
      m_plan(plan),
      m_facts(facts),
      m_name_space(std::move(name_space)),
      m_attempt(std::move(attempt)),
      m_own_order(client, facts),
      m_seen(plan, m_attempt, m_own_order),
      m_existing(std::move(existing)),
      m_logs(
          client, m_name_space,
          {[this](follow::MemberOutput output) { emit(output); }, [this](std::string text) { emit(follow::BackendMessage{std::move(text), true}); },
           [this] {
             if (m_watch) m_watch->expect_end();
           },
           [this](follow::LogComplete complete) { emit(std::move(complete)); }}),
      m_claim(client, plan, facts, m_name_space),
      m_removal_ends(client.loop()),
      m_time(client.loop()),
      m_keep_deadline_removal(
          client, m_seen,
          {[this] { return keep_deadline_of_job(); }, [this] { return is_followed_by_us(); }, [this](std::string text) { log(std::move(text)); }}),
      m_settled(client.loop()) {}

ClusterBackend::~ClusterBackend() { m_client.forget(this); }

kube::Path ClusterBackend::job_path() const {
  return {std::string(m_resource.group_version), std::string(m_resource.plural), m_name_space, m_plan.job_name, ""};
}

void ClusterBackend::prepare(Sink sink) {
  m_sink = std::move(sink);
  m_client.on_trouble([this](const std::string& reason) { emit(follow::ServerTrouble{reason}); });
  if (m_existing) {
    m_adoption = m_client.loop().timer(Duration{}, [this] { submitted(std::move(*m_existing)); });
    return;
  }
  if (m_only_end) return;
  m_submission = std::make_unique<Submission>(
      m_client, m_plan, m_facts, m_name_space, m_attempt,
      Submission::Sink{[this](const std::string& line) { log(line); }, [this](Result<Submitted> result) { submitted(std::move(result)); }},
      &m_seen.order());
  if (m_no_create) m_submission->only_follow(*m_no_create);
  if (m_create_forbidden) m_submission->hold();
}

void ClusterBackend::submitted(Result<Submitted> result) {
  m_timer.cancel();
  if (!result && (m_removal_wanted || m_keep_wanted)) {  // it may exist nevertheless
    m_timer = m_client.loop().timer(Duration{}, [this] { find_job(); });
    return;
  }
  if (!result && m_submission && m_submission->is_replaced()) return left_to_follower(result.error().message);
  if (!result) return emit(follow::BackendFailed{std::move(result.error())});
  if (m_submission && m_submission->unsettled() > Duration(0)) m_settled.set(m_submission->unsettled());
  m_submitted = std::move(*result);
  m_resource = m_submitted->resource;
  m_uid = uid_of(m_submitted->object);
  m_created = text(metadata_of(m_submitted->object), "creationTimestamp");
  m_creating_attempt = text(at(metadata_of(m_submitted->object), "annotations"), attempt_annotation);
  m_seen.found(m_submitted->object);
  m_seen.set_followed(m_submitted->followed);
  if (m_submitted->followed && !m_removal_wanted && !m_keep_wanted) return left_to_follower(is_followed);
  log(fmt::format("{} {} {} ({}) in namespace {}", m_submitted->adopted ? "adopted" : "created", m_submitted->resource.kind, m_plan.job_name,
                  job_types::replica_counts(m_plan), m_name_space));
  emit(follow::JobFound{m_submitted->adopted, m_submitted->resource.keeps_backoff_limit, from_rfc3339(m_created), clusters_clock()});
  if (m_removal_wanted || m_keep_wanted) return go_on_with_found(m_submitted->object);
  if (!m_wanted.empty())
    m_owned_objects = std::make_unique<OwnedObjects>(
        m_client, m_submitted->object, std::move(m_wanted), [this](std::string what) { emit(follow::BackendMessage{std::move(what), true}); },
        [this](Result<void> made) {
          if (!made) emit(follow::BackendFailed{std::move(made.error())});
        });
  if (has_keep_deadline(m_submitted->object)) m_keep_deadline_removal.tried();
  if (m_submitted->kept) follow_with_deadline(*m_submitted->kept);
  watch_job(*m_submitted);
  hold_lease();
  renew_keys();
  m_submitted->object = Json();  // the watch knows better
}

// The start time of the job is set by its operator, whose clock may differ.
std::optional<Duration> ClusterBackend::clusters_clock() const {
  return agreed_clock(m_client.clock(), m_client.loop().now(), std::max(m_facts.written, from_rfc3339(m_created)));
}

void ClusterBackend::watch_job(const Submitted& submitted) {
  JobWatch::Sink sink;
  sink.job = [this](const Json& object, job_types::Judgement judgement) { handle_job(object, std::move(judgement)); };
  sink.job_gone = [this] { job_gone(); };
  sink.pod = [this](follow::MemberIndex member, job_types::PodView pod) { handle_pod(member, std::move(pod)); };
  sink.pod_gone = [this](follow::MemberIndex member, const std::string& uid) { emit(follow::PodGone{member, uid}); };
  sink.pods_listed = [this] { emit(follow::PodsListed{}); };
  sink.pods_hidden = [this](const std::string& why) { emit(follow::PodsHidden{why}); };
  sink.failed = [this](Error why) { emit(follow::BackendFailed{std::move(why)}); };
  m_watch = std::make_unique<JobWatch>(
      m_client, m_plan, JobWatch::Job{m_resource, job_path(), m_uid, m_seen.version(), m_created, submitted.adopted, m_is_observer}, std::move(sink));
  m_watch->handle_job(submitted.object);
  m_was_over = m_watch->over() && submitted.adopted;
  m_watch->open();
  m_events = std::make_unique<JobEvents>(
      m_client, JobEvents::Job{m_resource, m_name_space, m_plan.job_name, m_uid, m_created},
      JobEvents::Sink{
          [this](follow::WarningSeen warning) { emit(std::move(warning)); },
          [this](const std::string& uid, const Json& event, std::optional<Time> last) { emit_pod_warning(uid, event, last); },
          [this](const std::string& why) { log(fmt::format("no permission to read events ({}): the reason for missing pods is unknown", why)); }});
}

// If another attempt may follow, it holds for as long as the job would be kept for that.
void ClusterBackend::hold_lease() {
  const auto& lease = m_plan.data.task.lease;
  if (!lease.wanted() || m_is_observer || m_watch->over()) return;
  const auto length = m_facts.retry == Retry::none ? lease.length : std::max(lease.length, kept_length(m_facts));
  m_step_lease = std::make_unique<StepLease>(m_client, StepLease::Job{m_resource, m_name_space, m_plan.job_name, m_uid}, m_attempt, lease.interval(),
                                             length, [this](std::string text) { log(std::move(text)); });
}

void ClusterBackend::renew_keys() {
  if (!m_keys_source || m_watch->over()) return;
  auto source = *m_keys_source;
  if (m_submitted->adopted) {
    auto copy = as_in_job(std::move(source.copy), m_submitted->object);
    if (!copy) return log("the job's pods have the secret key of the bucket, from an earlier attempt; it is not renewed (minio-pod-keys)");
    source.copy = std::move(*copy);
  }
  m_keys_renewal = std::make_unique<KeysRenewal>(m_client, KeysRenewal::Job{m_name_space, m_uid, m_submitted->adopted}, std::move(source),
                                                 [this](std::string text) { log(std::move(text)); });
}

void ClusterBackend::end_renewals() {
  m_step_lease.reset();
  m_keys_renewal.reset();
}

void ClusterBackend::stop_watching() {
  if (m_watch) m_watch->close();
  m_events.reset();
}

void ClusterBackend::refresh() {
  if (m_watch) m_watch->refresh();
}

void ClusterBackend::watch_pod_events() {
  if (m_events) m_events->watch_pods();
}

void ClusterBackend::emit_pod_warning(const std::string& uid, const Json& event, std::optional<Time> last) {
  if (last) last = *last - clusters_clock().value_or(Duration{0});
  if (const auto member = m_watch->member_of(uid)) emit(follow::PodWarningSeen{*member, uid, text(&event, "reason"), text(&event, "message"), last});
}

// A create whose response was lost may have taken effect later, also while it could not be seen: removal checks for that (removed()).
void ClusterBackend::job_gone() {
  if (m_removal_wanted && m_settled.is_set()) return;
  if (m_gone) return;
  mark_gone();
  emit(follow::JobGone{});
}

void ClusterBackend::mark_gone() {
  m_gone = true;
  end_renewals();
  if (m_watch) m_watch->ended();
}

void ClusterBackend::handle_job(const Json& object, job_types::Judgement judged) {
  const auto planned = m_plan.options.run_policy.active_deadline;
  // Without its own deadline it has that of the keeping, even if that was removed in the meantime.
  m_kept = m_kept || (!own_deadline(object, planned) && has_keep_deadline(object));
  if (is_overdue(judged) && (m_kept || is_cut_short(object, planned))) judged.reason = follow::kept_in_vain;
  m_seen.take(object);
  m_keep_deadline_removal.look();
  using enum job_types::Judgement::State;
  if (judged.state == succeeded || judged.state == failed) end_renewals();  // its end decides
  if (!m_watch->over() && at(metadata_of(object), "deletionTimestamp") != nullptr)
    judged = {judged.state, std::string(follow::being_deleted), join(finalizers_of(object), ", ")};
  emit(follow::JobSeen{std::move(judged)});
}

void ClusterBackend::handle_pod(follow::MemberIndex member, job_types::PodView pod) {
  if (pod.over() || pod.phase == "Running") m_seen.set_begun();
  if (m_plan.data.has_agent() || m_is_observer) read_report(pod);
  emit(follow::PodSeen{member, std::move(pod)});
}

void ClusterBackend::read_report(const job_types::PodView& pod) {
  for (const auto& container : pod.containers) {
    auto report = container.termination ? result::read_pod_report(container.termination->message) : std::nullopt;
    if (report && report->primary && report->verdict_class == result::VerdictClass::succeeded) m_report = std::move(report);
  }
}

Result<std::vector<run::OutputFound>> ClusterBackend::collect() {
  if (m_report && !m_is_observer) return outputs_of(m_plan, *m_report);
  const auto& data = m_plan.data;
  if (!data.has_agent() || data.only_lease || data.task.record.in_store() || !data.record_in_step.empty()) return std::vector<run::OutputFound>{};
  return Error{ErrorKind::unavailable, std::string(no_report_reason)};
}

// --- keeping the job for the next attempt of its step, and what an earlier one has kept (docs/adr/0021)

// Also during a removal: the signal arrived after a cancel or a limit had started it.
void ClusterBackend::set_kill_time(Time time) {
  m_time.set(time);
  if (!m_removal_wanted || m_gone || m_keep_timer) return;
  m_removal_ends.set(m_time.left() * 3 / 4);
  m_keep_timer = m_client.loop().timer(m_time.left(), [this] { out_of_time(); });
}

// Half of the remaining time is for the deadline; if it cannot be set by then, the job is deleted in the other half, unless another attempt is
// certain. KFP's launcher leaves time for only one of them.
void ClusterBackend::keep_job(const follow::KeepJob& /*order*/) {
  stop_keeping();
  stop_watching();  // losing sight of the job must not end the keeping
  m_keep_wanted = true;
  m_removal_ends.set(m_time.left());
  m_keep_timer =
      m_client.loop().timer(m_facts.launcher ? m_time.left() : m_time.left() / 2, [this] { cannot_keep("no answer in the remaining time"); });
  m_submitted ? keep_found() : find_job();
}

void ClusterBackend::stop_keeping() {
  m_keep_timer.cancel();
  m_keep_deadline_removal.stop();
  m_keeping.reset();
}

void ClusterBackend::keep_found() {
  m_keeping = std::make_unique<JobKeeping>(
      m_client, m_plan, m_facts, m_time, m_seen, [this] { return keep_deadline_of_job(); }, m_ends_since,
      JobKeeping::Sink{[this](std::string text) { log(std::move(text)); }, [this] { kept(); }, [this] { waits_in_queue(); }});
  m_keeping->begin();
}

void ClusterBackend::waits_in_queue() {
  stop_keeping();
  m_keep_wanted = false;
  emit(follow::BackendFailed{{ErrorKind::unavailable, "it is suspended and has not started, so nothing is lost, and a deadline would not end it"}});
}

KeepDeadline::Job ClusterBackend::keep_deadline_of_job() const {
  return {m_resource, m_name_space, m_plan.job_name, m_uid, m_attempt, m_seen.order().began()};
}

void ClusterBackend::kept() {
  m_keep_timer.cancel();
  emit(follow::JobKept{});
}

void ClusterBackend::cannot_keep(std::string why) {
  if (m_keeping && !m_keeping->problem().empty()) why = m_keeping->problem();
  stop_keeping();
  m_search.reset();
  m_timer.cancel();
  if (m_facts.retry == Retry::follows) {
    if (m_submitted)
      log(fmt::format("the job may have no deadline: {}", why));
    else if (create_sent())
      log(fmt::format("{}, without a deadline", may_appear));
    return kept();
  }
  m_keep_wanted = false;
  emit(follow::BackendFailed{{ErrorKind::unavailable, std::move(why)}});
}

// SIGKILL is near: reports what could not be done.
void ClusterBackend::out_of_time() {
  m_keep_timer = {};
  if (m_gone || !m_removal_wanted) return;
  m_removal.reset();
  m_search.reset();
  m_timer.cancel();
  if (m_deleted) return report_gone();
  emit(follow::BackendFailed{{ErrorKind::unavailable, "the API server did not accept its deletion in the remaining time"}});
}

// It is followed nevertheless: it is the only job of this run. Until the deadline is removed, it may end because of it.
void ClusterBackend::follow_with_deadline(const Error& why) {
  log(fmt::format("cannot remove the deadline set by the previous attempt, which may end the job; trying again every minute: {}", why.message));
  m_keep_deadline_removal.try_later();
}

bool ClusterBackend::is_followed_by_us() const {
  const bool over = m_gone || (m_watch && m_watch->over());
  return !m_is_observer && !m_keep_wanted && !m_removal_wanted && !m_seen.is_taken_over() && !over;
}

// --- removing the job

void ClusterBackend::remove_job(const follow::RemoveJob& order) {
  if (m_is_observer) return emit(follow::BackendFailed{internal_error("jobs of other steps are never deleted")});
  stop_keeping();
  m_removal_wanted = true;
  end_renewals();
  m_removal_at_once = order.at_once;
  m_unless_succeeded = order.unless_succeeded;
  m_removal_ends.set(m_time.at_most(removal_timeout));
  if (m_time.is_limited()) m_keep_timer = m_client.loop().timer(m_time.left(), [this] { out_of_time(); });
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
    if (!retry_may_help(problem, tries)) {
      if (m_keep_wanted) return cannot_keep(problem.error.message);
      stop_keeping();
      return emit(follow::BackendFailed{problem.error});
    }
    if (tries > 1) m_client.failing(this, problem);
    m_timer = m_client.loop().timer(retry_pause(m_client, tries, problem), [this, tries] { try_to_find(tries + 1); });
  });
}

// It has no response, and nothing shows what became of it.
bool ClusterBackend::create_sent() const { return m_settled.is_set() && !m_settled.passed() && !m_create_seen; }

// The pod of a step has less time than a create may take in the worst case.
bool ClusterBackend::create_may_take_effect() const { return create_sent() && (m_facts.pod.empty() || !m_removal_ends.passed()); }

// A job with the id of this run, but with other inputs: not created by an attempt of this step, unless it belongs to our own Workflow. One that says
// nothing about its inputs may come from our create, and have lost our annotations on the way.
bool ClusterBackend::belongs_to_other_step(const Json& job) const {
  const auto existing = judge_existing(job, m_plan, job_types::find(m_plan.job_type), m_attempt, m_seen.order().began());
  if (existing == Existing::unknown_spec) return !m_settled.is_set();
  const bool of_our_workflow = m_facts.workflow && is_of_workflow(job, *m_facts.workflow);
  return existing == Existing::other_spec && !of_our_workflow;
}

void ClusterBackend::found(std::optional<JobSearch::Found> job) {
  m_client.works(this);
  if (job && belongs_to_other_step(job->object)) {
    log(fmt::format("{}/{} exists for this run, but may have other inputs; leaving it unchanged", job->resource.plural, m_plan.job_name));
    mark_gone();
    return m_keep_wanted ? kept() : emit(follow::JobGone{});
  }
  const bool going = job && at(metadata_of(job->object), "deletionTimestamp") != nullptr;
  if (job && !(going && uid_of(job->object) == m_uid)) {
    m_submitted = Submitted{job->resource, std::move(job->object), true};
    m_resource = job->resource;
    m_uid = uid_of(m_submitted->object);
    m_create_seen = m_created_once && text(at(metadata_of(m_submitted->object), "annotations"), attempt_annotation) == m_attempt;
    m_deleted = false;
    m_seen.found(m_submitted->object);
    m_seen.take(m_submitted->object);
    return go_on_with_found(m_submitted->object);
  }
  if (create_may_take_effect()) {
    m_timer = m_client.loop().timer(look_for_create, [this] { try_to_find(1); });
    return;
  }
  if (m_keep_wanted) return kept();
  if (!create_sent() && m_uid.empty() && !m_plan.fresh_run) log("no job of this run");
  report_gone();
}

void ClusterBackend::go_on_with_found(const Json& job) {
  if (m_keep_wanted) return keep_found();
  if (!m_removal_at_once && is_success_needed(job)) return spared(job);
  m_removal_ends.set(removal_timeout);
  try_to_remove();
}

// Whether a refused request may succeed later: an unreachable server is waited for, one that responds only for so long.
bool ClusterBackend::retry_may_help(const kube::ApiError& problem, int tries) {
  if (kube::lacks_token(problem)) return !m_removal_ends.passed();
  if (problem.status == 0) m_removal_ends.set(removal_timeout);
  const bool momentary = kube::is_transient(problem, m_plan.job_name) && tries <= max_transient_errors;
  const bool later = momentary || problem.status == 0 || problem.status == 401 || kube::retryable(problem);
  return later && (problem.status == 0 || !m_removal_ends.passed());
}

// This attempt may have been lost, and its process survived: then another one follows the job. Neither a signal nor a late report of a watch about
// the Workflow tells; whether the job has changed since it was seen, the API server tells by its version.
void ClusterBackend::try_to_remove() {
  if (m_seen.is_taken_over() && (!m_removal_at_once || m_seen.is_later())) {
    m_timer = m_client.loop().timer(Duration(0), [this] { left_to_follower(is_followed); });
    return;
  }
  if (!m_claim.is_for_next() || m_removal_at_once || m_time.is_limited()) return remove_seen();
  m_claim.hand_on(m_uid, [this](std::string text) { log(std::move(text)); }, [this] { remove_seen(); });
}

void ClusterBackend::remove_seen() {
  Removal::Order order{job_path(), m_uid, m_seen.version()};
  order.timeout = m_time.at_most(removal_timeout);
  // A DELETE that had no response for seconds, or came too late, must not hit a job whose success counts.
  order.spares = [this](const Json& job) { return belongs_to_other_attempt(job) || is_success_needed(job); };
  m_removal = std::make_unique<Removal>(m_client, std::move(order),
                                        Removal::Sink{[this](const kube::ApiError& problem) { removal_fails(problem); },
                                                      {},
                                                      [this](const Removal::Outcome& outcome) { removal_ended(outcome); }});
}

// A cancel of the run ends the job even if another attempt follows it, except a later one, which is notified of the cancel itself (unless the cancel
// is an old one).
bool ClusterBackend::belongs_to_other_attempt(const Json& job) const {
  return m_removal_at_once ? m_seen.order().is_later(job) : m_seen.is_taken_over(job);
}

bool ClusterBackend::is_success_needed(const Json& job) const {
  const bool for_workflow = m_facts.workflow && m_plan.options.cleanup == "default";
  return (m_unless_succeeded || for_workflow) && judgement_of(job).state == job_types::Judgement::State::succeeded;
}

job_types::Judgement ClusterBackend::judgement_of(const Json& job) const { return job_types::find(m_plan.job_type).judge(job); }

void ClusterBackend::spared(const Json& job) {
  m_removal_wanted = false;
  m_keep_timer.cancel();
  if (m_unless_succeeded) return emit(follow::JobSucceededFirst{judgement_of(job)});
  log("the job has succeeded in the meantime; leaving it to its workflow");
  emit(follow::JobGone{});
}

void ClusterBackend::left_to_follower(std::string_view why) {
  m_removal_wanted = false;
  m_keep_timer.cancel();
  log(std::string(why));
  emit(follow::JobFollowed{});
}

void ClusterBackend::removal_fails(const kube::ApiError& problem) {
  if (problem.status == 0 && !kube::lacks_token(problem)) m_removal_ends.set(removal_timeout);
  if (problem.status == 0 || kube::retryable(problem)) return m_client.failing(this, problem);
  if (!std::exchange(m_refusal_reported, true)) log(fmt::format("{}; trying again", problem.error.message));
}

void ClusterBackend::removal_ended(const Removal::Outcome& outcome) {
  m_client.works(this);
  if (outcome.end == Removal::End::failed) {
    stop_keeping();
    return emit(follow::BackendFailed{outcome.error()});
  }
  if (outcome.end == Removal::End::spared) {
    if (belongs_to_other_attempt(outcome.last)) return left_to_follower(is_followed);
    return spared(outcome.last);
  }
  if (outcome.end == Removal::End::taken) log("the job is deleted");
  m_deleted = m_deleted || outcome.end == Removal::End::taken;
  removed();
}

// A create whose response was lost may take effect after the DELETE: one more look when that is no longer possible.
void ClusterBackend::removed() {
  const bool in_time = m_facts.pod.empty() || !m_removal_ends.passed();
  if (create_may_take_effect() || (m_settled.is_set() && !m_create_seen && in_time && !std::exchange(m_final_read_done, true))) {
    m_timer = m_client.loop().timer(look_for_create, [this] { try_to_find(1); });
    return;
  }
  report_gone();
}

void ClusterBackend::report_gone() {
  if (create_sent()) log(std::string(may_appear));
  mark_gone();
  emit(follow::JobGone{});
}

void ClusterBackend::conclude(const result::Verdict& verdict, std::function<void(std::string)> log, std::function<void(std::string)> done) {
  stop_watching();
  m_logs.clear();
  stop_keeping();
  m_removal_ends.set(JobCleanup::time_for_it(m_time));
  if (!m_submitted || (m_gone && !m_removal_wanted)) return done("");
  m_removal.reset();
  m_claim.cancel();
  JobCleanup::Job job{job_path(), m_resource.kind, m_uid};
  job.removing = m_removal_wanted;
  job.removed = m_removal_wanted && m_gone;
  job.at_once = m_removal_at_once;
  job.awaits_pods = m_awaits_pods;
  job.data_will_be_deleted = m_data_will_be_deleted;
  m_cleanup = std::make_unique<JobCleanup>(m_client, m_plan, m_facts, m_time, std::move(job),
                                           JobCleanup::Sink{[this] { return create_may_take_effect(); }, std::move(log), std::move(done)});
  m_cleanup->begin(verdict);
}

}  // namespace trainstep::cluster
