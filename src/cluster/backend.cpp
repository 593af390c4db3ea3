// SPDX-License-Identifier: Apache-2.0
#include "cluster/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cluster/agreed_clock.h"
#include "cluster/data.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "follow/reasons.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

std::string counts(const plan::Plan& plan) {
  std::string all;
  for (const auto& replicas : job_types::find(plan.job_type).replicas(plan))
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", replicas.count, replicas.type);
  return all;
}

// What keeps a deleted object.
std::string finalizers_of(const Json& object) {
  std::string all;
  const auto* finalizers = at(metadata_of(object), "finalizers");
  if (finalizers == nullptr || !finalizers->is_array()) return all;
  for (const auto& one : *finalizers)
    if (one.is_string()) all += fmt::format("{}{}", all.empty() ? "" : ", ", one.get_ref<const std::string&>());
  return all;
}

}  // namespace

ClusterBackend::ClusterBackend(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt,
                               std::optional<Submitted> existing)
    : m_client(client),
      m_plan(plan),
      m_facts(facts),
      m_name_space(std::move(name_space)),
      m_attempt(std::move(attempt)),
      m_own_order(client, facts),
      m_existing(std::move(existing)),
      m_removal_ends(client.loop()),
      m_settled(client.loop()),
      m_lift_rests(client.loop()) {}

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
      Submission::Sink{[this](const std::string& line) { tell(line); }, [this](Result<Submitted> result) { submitted(std::move(result)); }}, m_order);
  if (m_no_create) m_submission->only_follow(*m_no_create);
  if (m_make_none) m_submission->hold();
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
  m_version = text(metadata_of(m_submitted->object), "resourceVersion");
  m_created = text(metadata_of(m_submitted->object), "creationTimestamp");
  m_made_by = text(at(metadata_of(m_submitted->object), "annotations"), attempt_annotation);
  know_follower(m_submitted->object);
  m_taken_over = m_later = m_submitted->followed;
  if (m_taken_over && !m_removal_wanted && !m_keep_wanted) return left_to_follower(is_followed);
  tell(fmt::format("{} {} {} ({}) in namespace {}", m_submitted->adopted ? "adopted" : "created", m_submitted->resource.kind, m_plan.job_name,
                   counts(m_plan), m_name_space));
  emit(follow::JobFound{m_submitted->adopted, m_submitted->resource.keeps_backoff_limit, from_rfc3339(m_created), clusters_clock()});
  if (m_removal_wanted || m_keep_wanted) return go_on_with_found();
  if (!m_wanted.empty())
    m_owned_objects = std::make_unique<OwnedObjects>(
        m_client, m_submitted->object, std::move(m_wanted), [this](std::string what) { emit(follow::Told{std::move(what), true}); },
        [this](Result<void> made) {
          if (!made) emit(follow::BackendFailed{std::move(made.error())});
        });
  if (is_leased(m_submitted->object)) m_lift_rests.set(next_lift);  // just tried
  if (m_submitted->kept) follow_with_deadline(*m_submitted->kept);
  look_at_job(m_submitted->object);
  m_was_over = m_over && m_submitted->adopted;
  watch_all();
  m_submitted->object = Json();  // the watch knows better
}

// The start time of the job is set by its operator, whose clock may differ.
std::optional<Duration> ClusterBackend::clusters_clock() const {
  return agreed_clock(m_client.clock(), m_client.loop().now(), std::max(m_facts.written, from_rfc3339(m_created)));
}

void ClusterBackend::watch_all() {
  const auto& kind = job_types::find(m_plan.job_type);
  m_pods_by_label = std::make_unique<PodIndex>(kind, m_resource, m_plan.job_name, kind.replicas(m_plan));
  const auto failed = [this](const kube::ApiError& problem) { emit(follow::BackendFailed{problem.error}); };

  const bool followed = m_submitted->adopted && !m_looks_on;
  kube::WatchOptions job;
  job.path = job_path();
  job.field_selector = "metadata.name=" + job.path.name;
  job.path.name.clear();
  job.needed = true;
  job.followed = followed;
  kube::Watch::Sink job_sink;
  job_sink.synced = [this](const std::vector<Json>& items) {
    for (const auto& item : items) look_at_job(item);
    if (std::ranges::none_of(items, [this](const Json& item) { return uid_of(item) == m_uid; })) ask_for_job();
  };
  job_sink.changed = [this](const Json& object) { look_at_job(object); };
  job_sink.deleted = [this](const Json& object) {
    if (uid_of(object) != m_uid) return;
    look_at_job(object);  // its last state may be final
    job_gone();
  };
  job_sink.failed = failed;
  m_watches.push_back(std::make_unique<kube::Watch>(m_client, std::move(job), std::move(job_sink)));

  kube::WatchOptions pods;
  pods.path = {"v1", "pods", m_name_space, "", ""};
  pods.label_selector = kind.pods(m_plan.job_name, m_resource, "", -1);
  pods.trim = job_types::trim_pod;
  pods.needed = !m_looks_on;
  pods.followed = followed;
  kube::Watch::Sink pod_sink;
  pod_sink.synced = [this](const std::vector<Json>& items) {
    if (!look_at_pods(items, m_watches[1]->version())) list_pods_soon();
  };
  pod_sink.changed = [this](const Json& object) { look_at_pod(object); };
  pod_sink.deleted = [this](const Json& object) {
    look_at_pod(object);
    pod_gone(uid_of(object));
  };
  pod_sink.failed = [this, failed](const kube::ApiError& problem) {
    if (m_looks_on && problem.status == 403) return pods_hidden(problem);
    failed(problem);
  };
  m_watches.push_back(std::make_unique<kube::Watch>(m_client, std::move(pods), std::move(pod_sink)));

  watch_events(m_plan.job_name);
  // The launcher of mpi-operator is a Job of its own, whose pods quota and webhooks may reject.
  if (has_launcher_job()) watch_events(launcher_name());
}

void ClusterBackend::look_at_job(const Json& object) {
  if (uid_of(object) != m_uid || m_gone || !m_known.take(object, m_client.loop().now())) return;
  auto judged = judgement_of(object);
  const auto planned = m_plan.options.run_policy.active_deadline;
  // Without its own deadline it has that of the keeping, even if that was removed in the meantime.
  m_kept = m_kept || (!own_deadline(object, planned) && is_leased(object));
  if (is_overdue(judged) && (m_kept || is_cut_short(object, planned))) judged.reason = follow::kept_in_vain;
  m_over = judged.state == job_types::Judgement::State::succeeded || judged.state == job_types::Judgement::State::failed;
  look_at_keeping(object);
  if (!m_over && at(metadata_of(object), "deletionTimestamp") != nullptr)
    judged = {judged.state, std::string(follow::being_deleted), finalizers_of(object)};
  emit(follow::JobSeen{std::move(judged)});
}

void ClusterBackend::look_at_pod(const Json& object) {
  const auto member = m_pods_by_label->member_of(object, m_uid, m_created);
  if (!member || !m_known.take(object, m_client.loop().now())) return;
  auto pod = job_types::read_pod(object);
  m_pods[pod.uid] = *member;
  if (pod.over()) pod_over();
  if (pod.over() || pod.phase == "Running") m_begun = true, m_waits = false;
  if (m_plan.data.has_agent() || m_looks_on) look_for_report(pod);
  emit(follow::PodSeen{*member, std::move(pod)});
}

void ClusterBackend::look_for_report(const job_types::PodView& pod) {
  for (const auto& container : pod.containers) {
    auto report = container.termination ? result::read_pod_report(container.termination->message) : std::nullopt;
    if (report && report->primary && report->verdict_class == result::VerdictClass::succeeded) m_report = std::move(report);
  }
}

void ClusterBackend::pod_gone(const std::string& uid) {
  const auto found = m_pods.find(uid);
  if (found == m_pods.end()) return;
  const auto member = found->second;
  m_pods.erase(found);
  m_missing.erase(uid);
  emit(follow::PodGone{member, uid});
}

void ClusterBackend::follow_log(const follow::FollowLog& order) {
  kube::LogStream::Sink sink;
  const auto member = order.member;
  const auto attempt = order.attempt;
  sink.lines = [this, member, attempt](std::string_view lines) { emit(follow::MemberOutput{member, lines, attempt}); };
  auto whole = std::make_shared<bool>(true);
  sink.lost = [this, pod = order.pod, whole](const std::string& what) {
    *whole = false;
    emit(follow::Told{fmt::format("log of {}: {}", pod, what), true});
  };
  sink.waits = [this, pod = order.pod](const std::string& what) { emit(follow::Told{fmt::format("log of {}: {}", pod, what), true}); };
  sink.ended = [this] { expect_end(); };
  sink.complete = [this, member, attempt, whole] { emit(follow::LogComplete{member, attempt, *whole}); };
  auto& kin = m_log_kin[{order.pod, order.container}];
  if (!kin) kin = std::make_shared<kube::LogKin>();
  auto& log = m_logs[{member, attempt}];
  log = std::make_unique<kube::LogStream>(m_client, kube::LogSource{m_name_space, order.pod, order.container, order.previous}, std::move(sink), kin);
  log->hold(m_logs_held);
}

// The pods continue to write: their lines wait in the files of the kubelet.
void ClusterBackend::hold_output(Pressure pressure) {
  m_logs_held = pressure != Pressure::none;
  for (auto& [key, log] : m_logs) log->hold(m_logs_held);
}

void ClusterBackend::end_log(const follow::EndLog& order) {
  if (const auto log = m_logs.find({order.member, order.attempt}); log != m_logs.end())
    order.gone ? log->second->abandon() : log->second->ended(order.restarted);
}

Result<std::vector<run::OutputFound>> ClusterBackend::collect() {
  if (m_report && !m_looks_on) return outputs_of(m_plan, *m_report);
  const auto& data = m_plan.data;
  if (!data.has_agent() || data.task.record.in_store() || !data.record_in_step.empty()) return std::vector<run::OutputFound>{};
  return Error{ErrorKind::unavailable, std::string(untold)};
}

}  // namespace trainstep::cluster
