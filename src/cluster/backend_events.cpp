// ClusterBackend: Warning events of the job, of the Job of its MPI launcher, and of its pods.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cluster/backend.h"
#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

constexpr Duration lasts = std::chrono::hours(1);  // an hour of waiting costs at most 12 requests, with an MPIJob's launcher and a log

// When an event happened last; series are the newer form (events.k8s.io), which the core API returns as well.
std::optional<Time> last_time(const Json& event) {
  for (const auto& written : {text(at(&event, "series"), "lastObservedTime"), text(&event, "lastTimestamp"), text(&event, "eventTime"),
                              text(&event, "firstTimestamp"), text(metadata_of(event), "creationTimestamp")})
    if (const auto time = from_rfc3339(written)) return time;
  return std::nullopt;
}

}  // namespace

// Events only explain: if they may not be read, the job runs nevertheless.
void ClusterBackend::watch_events(const std::string& object) {
  kube::WatchOptions events;
  events.path = {"v1", "events", m_name_space, "", ""};
  events.field_selector = "involvedObject.name=" + object + ",type=Warning";
  events.timeout = lasts;
  kube::Watch::Sink sink;
  sink.synced = [this](const std::vector<Json>& items) {
    for (const auto& item : items) look_at_event(item);
  };
  sink.changed = [this](const Json& item) { look_at_event(item); };
  sink.deleted = [](const Json&) {};
  sink.failed = [this, first = object == m_plan.job_name](const kube::ApiError& problem) {
    if (first) tell(fmt::format("no permission to read events ({}): the reason for missing pods is unknown", problem.error.message));
  };
  m_watches.push_back(std::make_unique<kube::Watch>(m_client, std::move(events), std::move(sink)));
}

// Events outlive their objects by an hour, and other objects may have had the job's name: only events of this very job count.
void ClusterBackend::look_at_event(const Json& object) {
  const auto* about = at(&object, "involvedObject");
  if (metadata_of(object) == nullptr) return;
  if (text(about, "kind") == m_resource.kind && text(about, "name") == m_plan.job_name) {
    if (text(about, "uid") == m_uid) tell_warning(object);
  } else if (has_launcher_job() && text(about, "kind") == "Job" && text(about, "name") == launcher_name()) {
    look_at_launcher(object);
  }
}

// The uid of its Job is not known in advance. If the Job may not be read, an event that came after the MPIJob was created is assumed to be its own.
void ClusterBackend::look_at_launcher(const Json& event) {
  const auto uid = text(at(&event, "involvedObject"), "uid");
  if (const auto known = m_launchers.find(uid); known != m_launchers.end()) {
    if (known->second) tell_warning(event);
    return;
  }
  auto& waiting = m_unsure[uid];
  waiting.push_back(event);
  if (waiting.size() > 1) return;
  m_asked.push_back(m_client.get({"batch/v1", "jobs", m_name_space, launcher_name(), ""}, {}, {}, [this, uid](const kube::Answer& answer) {
    const auto events = std::move(m_unsure.extract(uid).mapped());
    const bool hidden = !answer && answer.error().status != 404;
    if (!hidden) m_launchers[uid] = answer && uid_of(*answer) == uid && is_owned_by(*answer, m_uid);
    for (const auto& one : events)
      if (hidden ? is_younger(one) : m_launchers.at(uid)) tell_warning(one);
  }));
}

bool ClusterBackend::is_younger(const Json& event) const {
  const auto made = from_rfc3339(text(metadata_of(event), "creationTimestamp"));
  const auto job = from_rfc3339(m_created);
  return !made || !job || *made >= *job;
}

void ClusterBackend::tell_warning(const Json& event) {
  const auto* about = at(&event, "involvedObject");
  emit(follow::WarningSeen{fmt::format("{} {}", text(about, "kind"), text(about, "name")), text(&event, "reason"), text(&event, "message"),
                           text(metadata_of(event), "resourceVersion"), last_time(event)});
}

// Of all pods in the namespace: the pods of a gang are too many for a request each.
void ClusterBackend::watch_pod_events() {
  kube::WatchOptions events;
  events.path = {"v1", "events", m_name_space, "", ""};
  events.field_selector = "involvedObject.kind=Pod,type=Warning";
  events.timeout = lasts;
  kube::Watch::Sink sink;
  sink.synced = [this](std::vector<Json> items) {
    std::ranges::stable_sort(items, {}, [](const Json& event) { return last_time(event).value_or(Time{}); });
    for (const auto& event : items)
      if (const auto last = last_time(event)) tell_pod_warning(event, *last - clusters_clock().value_or(Duration{0}));
  };
  sink.changed = [this](const Json& event) { tell_pod_warning(event, std::nullopt); };
  sink.deleted = [](const Json&) {};
  sink.failed = [](const kube::ApiError&) {};
  m_watches.push_back(std::make_unique<kube::Watch>(m_client, std::move(events), std::move(sink)));
}

void ClusterBackend::tell_pod_warning(const Json& event, std::optional<Time> last) {
  const auto pod = m_pods.find(text(at(&event, "involvedObject"), "uid"));
  if (pod != m_pods.end()) emit(follow::PodWarningSeen{pod->second, pod->first, text(&event, "reason"), text(&event, "message"), last});
}

}  // namespace trainstep::cluster
