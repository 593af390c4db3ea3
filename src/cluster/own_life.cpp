// SPDX-License-Identifier: Apache-2.0
#include "cluster/own_life.h"

#include <utility>

#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

// After a SIGTERM: under KFP v2 the program may have 47 ms to live (kfp.md §10).
constexpr Duration patience{30};

// Argo labels the pod, and later the Workflow, as completed a second or more before the first signal (kfp.md §10).
bool completed(const Json* metadata) {
  const auto* labels = metadata != nullptr ? trainstep::find(*metadata, "labels") : nullptr;
  return labels != nullptr && labels->is_object() && labels->value("workflows.argoproj.io/completed", "") == "true";
}

bool deleting(const Json* metadata) { return metadata != nullptr && trainstep::find(*metadata, "deletionTimestamp") != nullptr; }

kube::WatchOptions options(kube::Path path, const std::string& name) {
  kube::WatchOptions result;
  result.path = std::move(path);
  result.field_selector = "metadata.name=" + name;
  result.metadata_only = true;
  return result;
}

}  // namespace

OwnLife::OwnLife(kube::Client& client, const Facts& facts, std::function<void(const std::string&)> cancelled)
    : m_client(client), m_pod_path{"v1", "pods", facts.name_space, facts.pod, ""}, m_cancelled(std::move(cancelled)), m_pod_uid(facts.pod_uid) {
  if (facts.pod.empty()) return;
  const auto all = [](auto look) {
    return [look](const std::vector<Json>& items) {
      for (const auto& item : items) look(item);
    };
  };
  const auto pod = [this](const Json& object) { look_at_pod(object); };
  kube::Watch::Sink pod_sink{[this, each = all(pod)](const std::vector<Json>& items) {
                               m_pod_watched = true;
                               each(items);
                             },
                             pod, pod, [this](const kube::ApiError&) { m_pod_watched = false; }};
  m_pod = std::make_unique<kube::Watch>(client, options({"v1", "pods", facts.name_space, "", ""}, facts.pod), std::move(pod_sink));
  if (!facts.workflow) return;
  const auto workflow = [this](const Json& object) { look_at_workflow(object); };
  kube::Watch::Sink workflow_sink{[this, each = all(workflow)](const std::vector<Json>& items) {
                                    m_workflow_lives = !items.empty();
                                    each(items);
                                    if (items.empty()) cancel("the workflow was deleted");
                                  },
                                  workflow,
                                  [this](const Json&) {
                                    m_workflow_lives = false;
                                    cancel("the workflow was deleted");
                                  },
                                  [this](const kube::ApiError&) { m_workflow_lives = false; }};
  m_workflow = std::make_unique<kube::Watch>(
      client, options({facts.workflow->api_version, "workflows", facts.name_space, "", ""}, facts.workflow->name), std::move(workflow_sink));
}

OwnLife::~OwnLife() {
  m_client.cancel(m_call);
  m_client.loop().cancel(m_timer);
}

void OwnLife::look_at_pod(const Json& pod) {
  const auto* metadata = metadata_of(pod);
  if (metadata == nullptr || metadata->value("uid", "") != m_pod_uid) return;
  if (completed(metadata)) cancel("the workflow was stopped, or its deadline has passed");
  m_pod_deleted = m_pod_deleted || deleting(metadata);
}

void OwnLife::look_at_workflow(const Json& workflow) {
  const auto* metadata = metadata_of(workflow);
  if (completed(metadata)) cancel("the workflow has ended");
  if (deleting(metadata)) cancel("the workflow is being deleted");
}

void OwnLife::cancel(const std::string& what) {
  m_workflow_lives = false;
  if (!std::exchange(m_done, true)) m_cancelled(what);
}

void OwnLife::ask_why(Why done) {
  if (m_why) return;
  m_why = std::move(done);
  if (!m_pod_watched || !m_workflow_lives || m_done) return answer(false);
  if (m_pod_deleted) return answer(true);
  m_timer = m_client.loop().after(patience, [this] { answer(false); });
  m_call = m_client.get(m_pod_path, {}, {}, [this](const kube::Answer& pod) {
    m_call = 0;
    if (pod) look_at_pod(*pod);
    answer(pod && m_workflow_lives);
  });
}

void OwnLife::answer(bool evicted) {
  m_client.cancel(std::exchange(m_call, 0));
  m_client.loop().cancel(std::exchange(m_timer, 0));
  const auto why = std::exchange(m_why, nullptr);  // whoever is called may destroy this
  if (why) why(evicted ? std::optional<std::string>("this step's pod is evicted or deleted, its workflow goes on") : std::nullopt);
}

}  // namespace trainstep::cluster
