// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/objects.h"
#include "cluster/presence.h"
#include "kube/version.h"

namespace trainstep::cluster {
namespace {

// A watch reports the end of a job within this time after that of its pod or log; after that the job is read, at growing intervals.
constexpr Duration end_is_told{10'000};
constexpr int max_end_refreshes = 8;  // after about 40 minutes the renewal of the watches must be enough
constexpr Duration next_list{1'000};
constexpr int max_old_lists = 5;
constexpr int max_failed_refreshes = 8;  // consecutive responses that are not from an API server: a minute
// API servers may lag behind each other: a job is gone after this many consecutive responses, a pod after this many lists without it.
constexpr int absences_believed = 3;
constexpr int lists_believed = 2;
constexpr int old_lists_believed = 12;  // … that are older than the pod: a server restored from a backup has no others

}  // namespace

JobWatch::JobWatch(kube::Client& client, const plan::Plan& plan, Job job, Sink sink)
    : m_client(client),
      m_plan(plan),
      m_job(std::move(job)),
      m_sink(std::move(sink)),
      m_pods_by_label(type(), m_job.resource, m_plan.job_name, type().replicas(m_plan)) {}

void JobWatch::open() {
  watch_job();
  watch_pods();
}

void JobWatch::close() {
  m_job_watch.reset();
  m_pod_watch.reset();
}

std::optional<follow::MemberIndex> JobWatch::member_of(const std::string& pod_uid) const {
  const auto found = m_pods.find(pod_uid);
  return found == m_pods.end() ? std::nullopt : std::optional(found->second);
}

void JobWatch::watch_job() {
  kube::WatchOptions options;
  options.path = m_job.path;
  options.field_selector = "metadata.name=" + m_job.path.name;
  options.path.name.clear();
  options.needed = true;
  options.followed = m_job.adopted && !m_job.anothers;
  kube::Watch::Sink sink;
  sink.synced = [this](const std::vector<Json>& items) {
    for (const auto& item : items) handle_job(item);
    if (std::ranges::none_of(items, [this](const Json& item) { return uid_of(item) == m_job.uid; })) get_job();
  };
  sink.changed = [this](const Json& object) { handle_job(object); };
  sink.deleted = [this](const Json& object) {
    if (uid_of(object) != m_job.uid) return;
    handle_job(object);  // its last state may be final
    m_sink.job_gone();
  };
  sink.failed = [this](const kube::ApiError& problem) { m_sink.failed(problem.error); };
  m_job_watch = std::make_unique<kube::Watch>(m_client, std::move(options), std::move(sink));
}

void JobWatch::watch_pods() {
  kube::WatchOptions options;
  options.path = {"v1", "pods", m_job.path.name_space, "", ""};
  options.label_selector = type().pods(m_plan.job_name, m_job.resource, "", -1);
  options.trim = job_types::trim_pod;
  options.needed = !m_job.anothers;
  options.followed = m_job.adopted && !m_job.anothers;
  kube::Watch::Sink sink;
  sink.synced = [this](const std::vector<Json>& items) {
    if (!handle_pods(items, m_pod_watch->version())) list_pods_soon();
  };
  sink.changed = [this](const Json& object) { handle_pod(object); };
  sink.deleted = [this](const Json& object) {
    handle_pod(object);
    pod_gone(uid_of(object));
  };
  sink.failed = [this](const kube::ApiError& problem) {
    m_job.anothers&& problem.status == 403 ? m_sink.pods_hidden(problem.error.message) : m_sink.failed(problem.error);
  };
  m_pod_watch = std::make_unique<kube::Watch>(m_client, std::move(options), std::move(sink));
}

void JobWatch::handle_job(const Json& object) {
  if (uid_of(object) != m_job.uid || m_gone || !m_known.take(object, m_client.loop().now())) return;
  m_job.version = text(metadata_of(object), "resourceVersion");
  auto judgement = type().judge(object);
  m_over = judgement.state == job_types::Judgement::State::succeeded || judgement.state == job_types::Judgement::State::failed;
  m_sink.job(object, std::move(judgement));
}

// The job is missing from a list, which may be outdated.
void JobWatch::get_job() {
  if (m_gone || is_closed() || m_get || m_get_timer) return;
  m_get = m_client.get(m_job.path, {}, {}, [this](const kube::Answer& answer) {
    m_get = {};
    if (is_closed()) return;  // it is not followed any more
    const auto presence = presence_of(answer, m_job.path.name, m_job.uid);
    if (presence == Presence::gone && has_gone(answer)) return m_sink.job_gone();
    if (presence != Presence::there) return retry_get_job();
    m_unanswered_gets = m_not_found = 0;
    handle_job(*answer);
  });
}

// Another object has its name now – an older one had it before –, or it was missing often enough.
bool JobWatch::has_gone(const kube::Answer& answer) {
  if (!answer) return ++m_not_found >= absences_believed;
  return !kube::is_older_version(text(metadata_of(*answer), "resourceVersion"), m_job.version);
}

// The response was not from an API server that knows this resource, or from one that may be behind the others.
void JobWatch::retry_get_job() {
  m_get_timer = m_client.loop().timer(m_client.pause(++m_unanswered_gets), [this] {
    m_get_timer = {};
    get_job();
  });
}

void JobWatch::expect_end() {
  if (m_over || m_gone || m_end_timer || m_end_refreshes >= max_end_refreshes) return;
  m_end_timer = m_client.loop().timer(end_is_told * (1 << m_end_refreshes), [this] {
    m_end_timer = {};
    if (m_over || m_gone || is_closed()) return;
    ++m_end_refreshes;
    get_job();
    if (m_pod_over) expect_end();
  });
}

void JobWatch::pod_over() {
  if (!std::exchange(m_pod_over, true)) m_end_refreshes = 0;
  expect_end();
}

// The job first, so that what its pods say is at least as new.
void JobWatch::refresh() {
  const auto turn = ++m_look;
  m_look_call = m_client.get(m_job.path, {}, {}, [this, turn](kube::Answer answer) {
    if (turn != m_look) return;
    const auto presence = presence_of(answer, m_job.path.name, m_job.uid);
    const bool gone = presence == Presence::gone && has_gone(answer);
    if (presence != Presence::there && !gone) return retry_refresh(answer);
    m_failed_refreshes = m_not_found = 0;
    gone ? m_sink.job_gone() : handle_job(*answer);
    if (turn == m_look) relist_pods(turn);  // its end may have made us start again
  });
}

void JobWatch::retry_refresh(kube::Answer& answer) {
  const bool permanent = !answer && answer.error().status != 404 && answer.error().status != 403 && !kube::says_nothing(answer.error());
  if (permanent || ++m_failed_refreshes > max_failed_refreshes)
    return m_sink.failed(answer ? Error{ErrorKind::unavailable, "get " + m_job.path.describe() + ": the answer is not an object"}
                                : std::move(answer.error().error));
  m_look_timer = m_client.loop().timer(m_client.pause(m_failed_refreshes), [this] { refresh(); });
}

void JobWatch::list_pods(kube::PendingCall& call, std::function<void(kube::Answer)> done) {
  const kube::Path pods{"v1", "pods", m_job.path.name_space, "", ""};
  const auto selector = type().pods(m_plan.job_name, m_job.resource, "", -1);
  call = m_client.list(pods, {{"labelSelector", selector}}, {}, std::move(done), {.trim = job_types::trim_pod});
}

void JobWatch::relist_pods(int turn) {
  list_pods(m_look_call, [this, turn](kube::Answer answer) {
    if (turn != m_look) return;
    if (!answer && m_job.anothers && answer.error().status == 403) {
      m_sink.pods_hidden(answer.error().error.message);
      return m_sink.pods_listed();
    }
    if (!answer) return pods_refused(turn, answer.error());
    m_failed_lists = 0;
    const bool whole = take_list(*answer);
    if (whole && !is_behind(*answer)) return m_sink.pods_listed();
    m_look_timer = m_client.loop().timer(next_list, [this, turn] { relist_pods(turn); });
  });
}

// An API server that does not know of the end of the job yet may not know its pods. Versions of two resources usually, but not always, share a
// counter.
bool JobWatch::is_behind(const Json& list) {
  if (m_job.anothers) return false;
  return kube::is_older_version(text(metadata_of(list), "resourceVersion"), m_job.version) && ++m_old_lists <= max_old_lists;
}

// From a gateway, or from an API server that has just started: the pods may exist nevertheless.
void JobWatch::pods_refused(int turn, const kube::ApiError& problem) {
  if (++m_failed_lists <= max_failed_refreshes) {
    m_look_timer = m_client.loop().timer(m_client.pause(m_failed_lists), [this, turn] { relist_pods(turn); });
    return;
  }
  if (!m_job.anothers) return m_sink.failed(problem.error);
  m_sink.pods_hidden(problem.error.message);
  m_sink.pods_listed();
}

bool JobWatch::take_list(const Json& list) {
  return handle_pods(list.at("items").get_ref<const Json::array_t&>(), text(metadata_of(list), "resourceVersion"));
}

// A list may be outdated: a pod is gone when two consecutive ones, which were recent enough, do not have it. False: for a pod that is not known yet.
bool JobWatch::handle_pods(const std::vector<Json>& items, const std::string& version) {
  std::set<std::string> there;
  for (const auto& item : items) {
    there.insert(uid_of(item));
    m_missing.erase(uid_of(item));
  }
  // Lists are by name. The log of a pod that is not the newest is read if it is seen before that: the training may have finished in a failed one.
  for (const bool failed : {true, false})
    for (const auto& item : items)
      if ((text(at(&item, "status"), "phase") == "Failed") == failed) handle_pod(item);
  std::vector<std::string> gone;
  for (const auto& [uid, member] : m_pods) {
    if (there.contains(uid)) continue;
    auto& absence = m_missing[uid];
    ++absence.lists;
    if (m_known.covers(version, uid)) ++absence.new_enough;
    if (absence.new_enough >= lists_believed || absence.lists >= old_lists_believed) gone.push_back(uid);
  }
  for (const auto& uid : gone) pod_gone(uid);
  return m_missing.empty();
}

void JobWatch::handle_pod(const Json& object) {
  const auto member = m_pods_by_label.member_of(object, m_job.uid, m_job.created);
  if (!member || !m_known.take(object, m_client.loop().now())) return;
  auto pod = job_types::read_pod(object);
  m_pods[pod.uid] = *member;
  if (pod.over()) pod_over();
  m_sink.pod(*member, std::move(pod));
}

void JobWatch::pod_gone(const std::string& uid) {
  const auto found = m_pods.find(uid);
  if (found == m_pods.end()) return;
  const auto member = found->second;
  m_pods.erase(found);
  m_missing.erase(uid);
  m_sink.pod_gone(member, uid);
}

void JobWatch::list_pods_soon() {
  if (m_pods_timer || m_pods_call) return;
  m_pods_timer = m_client.loop().timer(next_list, [this] {
    m_pods_timer = {};
    if (m_missing.empty() || is_closed()) return;
    list_pods(m_pods_call, [this](const kube::Answer& answer) {
      m_pods_call = {};
      if (!answer || is_closed()) return;
      if (!take_list(*answer)) list_pods_soon();
    });
  });
}

}  // namespace trainstep::cluster
