// ClusterBackend: reads the job and its pods in addition to their watches, because a list or a silent watch may not show everything.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cluster/backend.h"
#include "cluster/objects.h"
#include "cluster/presence.h"
#include "job_types/job_type.h"
#include "kube/version.h"

namespace trainstep::cluster {
namespace {

// A watch reports the end of a job within this time after that of its pod or log; after that the job is read, at growing intervals.
constexpr Duration end_is_told{10'000};
constexpr int most_end_looks = 8;  // after some 40 minutes the renewal of the watches must be enough
constexpr Duration next_list{1'000};
constexpr int most_old_lists = 5;
constexpr int most_vain_looks = 8;  // consecutive responses that are not from an API server: a minute
// API servers may be behind each other: a job is gone after this many consecutive responses, a pod after this many lists without it.
constexpr int absences_believed = 3;
constexpr int lists_believed = 2;
constexpr int old_lists_believed = 12;  // … that are older than the pod: a server restored from a backup has no others

}  // namespace

// The job is missing from a list, which may be outdated.
void ClusterBackend::ask_for_job() {
  if (m_gone || m_watches.empty() || m_question || m_question_timer) return;
  m_question = m_client.get(job_path(), {}, {}, [this](const kube::Answer& answer) {
    m_question = {};
    if (m_watches.empty()) return;  // nobody follows it any more
    const auto presence = presence_of(answer, m_plan.job_name, m_uid);
    if (presence == Presence::gone && has_gone(answer)) return job_gone();
    if (presence != Presence::there) return ask_again();
    m_questions = m_absences = 0;
    look_at_job(*answer);
  });
}

// Another object has its name now – an older one had it before –, or it was missing often enough.
bool ClusterBackend::has_gone(const kube::Answer& answer) {
  if (!answer) return ++m_absences >= absences_believed;
  return !kube::is_older_version(text(metadata_of(*answer), "resourceVersion"), m_version);
}

// The response was not from an API server that knows this resource, or from one that may be behind the others.
void ClusterBackend::ask_again() {
  m_question_timer = m_client.loop().timer(m_client.pause(++m_questions), [this] {
    m_question_timer = {};
    ask_for_job();
  });
}

// A log has ended, and with it perhaps the job.
void ClusterBackend::expect_end() {
  if (m_over || m_gone || m_end_timer || m_end_looks >= most_end_looks) return;
  m_end_timer = m_client.loop().timer(end_is_told * (1 << m_end_looks), [this] {
    m_end_timer = {};
    if (m_over || m_gone || m_watches.empty()) return;
    ++m_end_looks;
    ask_for_job();
    if (m_pod_over) expect_end();
  });
}

void ClusterBackend::pod_over() {
  if (!std::exchange(m_pod_over, true)) m_end_looks = 0;
  expect_end();
}

// A create whose response was lost may have taken effect later, also while it could not be seen: removal checks for that (removed()).
void ClusterBackend::job_gone() {
  if (m_removal_wanted && m_settled.is_set()) return;
  if (!std::exchange(m_gone, true)) emit(follow::JobGone{});
}

// The job first, so that what its pods say is at least as new.
void ClusterBackend::look_again() {
  const auto turn = ++m_look;
  m_call = m_client.get(job_path(), {}, {}, [this, turn](kube::Answer answer) {
    if (turn != m_look) return;
    const auto presence = presence_of(answer, m_plan.job_name, m_uid);
    const bool gone = presence == Presence::gone && has_gone(answer);
    if (presence != Presence::there && !gone) return look_again_later(answer);
    m_vain_looks = m_absences = 0;
    if (gone)
      job_gone();
    else
      look_at_job(*answer);
    if (turn == m_look) look_at_pods_again(turn);  // its end may have made us start again
  });
}

void ClusterBackend::look_again_later(kube::Answer& answer) {
  const bool hopeless = !answer && answer.error().status != 404 && answer.error().status != 403 && !kube::says_nothing(answer.error());
  if (hopeless || ++m_vain_looks > most_vain_looks)
    return emit(follow::BackendFailed{answer ? Error{ErrorKind::unavailable, "get " + job_path().describe() + ": the answer is not an object"}
                                             : std::move(answer.error().error)});
  m_look_timer = m_client.loop().timer(m_client.pause(m_vain_looks), [this] { look_again(); });
}

void ClusterBackend::list_pods(kube::PendingCall& call, std::function<void(kube::Answer)> done) {
  const kube::Path pods{"v1", "pods", m_name_space, "", ""};
  const auto selector = job_types::find(m_plan.job_type).pods(m_plan.job_name, m_resource, "", -1);
  call = m_client.list(pods, {{"labelSelector", selector}}, {}, std::move(done), {.trim = job_types::trim_pod});
}

void ClusterBackend::pods_hidden(const kube::ApiError& problem) { emit(follow::PodsHidden{problem.error.message}); }

void ClusterBackend::look_at_pods_again(int turn) {
  list_pods(m_call, [this, turn](kube::Answer answer) {
    if (turn != m_look) return;
    if (!answer && m_looks_on && answer.error().status == 403) {
      pods_hidden(answer.error());
      return emit(follow::PodsListed{});
    }
    if (!answer) return pods_refused(turn, answer.error());
    m_vain_lists = 0;
    const bool whole = take_list(*answer);
    if (whole && !is_behind(*answer)) return emit(follow::PodsListed{});
    m_look_timer = m_client.loop().timer(next_list, [this, turn] { look_at_pods_again(turn); });
  });
}

// An API server that does not know of the end of the job yet may not know its pods. Versions of two resources usually, but not always, share a
// counter.
bool ClusterBackend::is_behind(const Json& list) {
  if (m_looks_on) return false;
  return kube::is_older_version(text(metadata_of(list), "resourceVersion"), m_version) && ++m_old_lists <= most_old_lists;
}

// From a gateway, or from an API server that has just started: the pods may exist nevertheless.
void ClusterBackend::pods_refused(int turn, const kube::ApiError& problem) {
  if (++m_vain_lists <= most_vain_looks) {
    m_look_timer = m_client.loop().timer(m_client.pause(m_vain_lists), [this, turn] { look_at_pods_again(turn); });
    return;
  }
  if (!m_looks_on) return emit(follow::BackendFailed{problem.error});
  pods_hidden(problem);
  emit(follow::PodsListed{});
}

bool ClusterBackend::take_list(const Json& list) {
  return look_at_pods(list.at("items").get_ref<const Json::array_t&>(), text(metadata_of(list), "resourceVersion"));
}

// A list may be outdated: a pod is gone when two consecutive ones, which were recent enough, do not have it. False: for a pod that is not known yet.
bool ClusterBackend::look_at_pods(const std::vector<Json>& items, const std::string& version) {
  std::set<std::string> there;
  for (const auto& item : items) {
    there.insert(uid_of(item));
    m_missing.erase(uid_of(item));
  }
  // Lists are by name. The log of a pod that is not the newest is read if it is seen before that: the training may have finished in a failed one.
  for (const bool failed : {true, false})
    for (const auto& item : items)
      if ((text(at(&item, "status"), "phase") == "Failed") == failed) look_at_pod(item);
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

void ClusterBackend::list_pods_soon() {
  if (m_pods_timer || m_pods_call) return;
  m_pods_timer = m_client.loop().timer(next_list, [this] {
    m_pods_timer = {};
    if (m_missing.empty() || m_watches.empty()) return;
    list_pods(m_pods_call, [this](const kube::Answer& answer) {
      m_pods_call = {};
      if (!answer || m_watches.empty()) return;
      if (!take_list(*answer)) list_pods_soon();
    });
  });
}

}  // namespace trainstep::cluster
