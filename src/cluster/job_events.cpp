// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

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

kube::WatchOptions warnings(const std::string& name_space, const std::string& selector) {
  kube::WatchOptions options;
  options.path = {"v1", "events", name_space, "", ""};
  options.field_selector = selector + ",type=Warning";
  options.timeout = lasts;
  return options;
}

follow::WarningSeen seen(const Json& event) {
  const auto* about = at(&event, "involvedObject");
  return {fmt::format("{} {}", text(about, "kind"), text(about, "name")), text(&event, "reason"), text(&event, "message"),
          text(metadata_of(event), "resourceVersion"), last_time(event)};
}

}  // namespace

JobEvents::JobEvents(kube::Client& client, Job job, Sink sink)
    : m_client(client), m_job(std::move(job)), m_sink(std::move(sink)), m_launcher(job_types::launcher_job(m_job.resource, m_job.name)) {
  watch(m_job.name);
  // The launcher of mpi-operator is a Job of its own, whose pods quota and webhooks may reject.
  if (m_job.resource.has_launcher_job) watch(m_launcher);
}

// Events only explain: if they may not be read, the job runs nevertheless.
void JobEvents::watch(const std::string& object) {
  kube::Watch::Sink sink;
  sink.synced = [this](const std::vector<Json>& items) {
    for (const auto& item : items) take(item);
  };
  sink.changed = [this](const Json& item) { take(item); };
  sink.deleted = [](const Json&) {};
  sink.failed = [this, first = object == m_job.name](const kube::ApiError& problem) {
    if (first) m_sink.forbidden(problem.error.message);
  };
  m_watches.push_back(std::make_unique<kube::Watch>(m_client, warnings(m_job.name_space, "involvedObject.name=" + object), std::move(sink)));
}

// Events outlive their objects by an hour, and other objects may have had the job's name: only events of this very job count.
void JobEvents::take(const Json& event) {
  const auto* about = at(&event, "involvedObject");
  if (metadata_of(event) == nullptr) return;
  if (text(about, "kind") == m_job.resource.kind && text(about, "name") == m_job.name) {
    if (text(about, "uid") == m_job.uid) m_sink.warning(seen(event));
  } else if (m_job.resource.has_launcher_job && text(about, "kind") == "Job" && text(about, "name") == m_launcher) {
    take_of_launcher(event);
  }
}

// The uid of its Job is not known in advance. If the Job may not be read, an event that came after the MPIJob was created is assumed to be its own.
void JobEvents::take_of_launcher(const Json& event) {
  const auto uid = text(at(&event, "involvedObject"), "uid");
  if (const auto known = m_launchers.find(uid); known != m_launchers.end()) {
    if (known->second) m_sink.warning(seen(event));
    return;
  }
  auto& waiting = m_unsure[uid];
  waiting.push_back(event);
  if (waiting.size() > 1) return;
  m_asked.push_back(m_client.get({"batch/v1", "jobs", m_job.name_space, m_launcher, ""}, {}, {}, [this, uid](const kube::Answer& answer) {
    const auto events = std::move(m_unsure.extract(uid).mapped());
    const bool hidden = !answer && answer.error().status != 404;
    if (!hidden) m_launchers[uid] = answer && uid_of(*answer) == uid && is_owned_by(*answer, m_job.uid);
    for (const auto& one : events)
      if (hidden ? is_younger_than_job(one) : m_launchers.at(uid)) m_sink.warning(seen(one));
  }));
}

bool JobEvents::is_younger_than_job(const Json& event) const {
  const auto made = from_rfc3339(text(metadata_of(event), "creationTimestamp"));
  const auto job = from_rfc3339(m_job.created);
  return !made || !job || *made >= *job;
}

void JobEvents::watch_pods() {
  kube::Watch::Sink sink;
  sink.synced = [this](const std::vector<Json>& items) {
    std::vector<std::pair<Time, std::size_t>> by_time;
    for (std::size_t i = 0; i < items.size(); ++i)
      if (const auto last = last_time(items[i])) by_time.emplace_back(*last, i);
    std::ranges::sort(by_time);
    for (const auto& [last, i] : by_time) m_sink.pod_warning(text(at(&items[i], "involvedObject"), "uid"), items[i], last);
  };
  sink.changed = [this](const Json& event) { m_sink.pod_warning(text(at(&event, "involvedObject"), "uid"), event, std::nullopt); };
  sink.deleted = [](const Json&) {};
  sink.failed = [](const kube::ApiError&) {};
  m_watches.push_back(std::make_unique<kube::Watch>(m_client, warnings(m_job.name_space, "involvedObject.kind=Pod"), std::move(sink)));
}

}  // namespace trainstep::cluster
