// SPDX-License-Identifier: Apache-2.0
#include "cluster/own_life.h"

#include <algorithm>
#include <utility>

#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

// Under KFP v2 the program may have 47 ms to live after a SIGTERM (kfp.md §10); elsewhere the rest of the grace is for the DELETE.
constexpr Duration launcher_patience{30};
constexpr Duration longest_patience{10'000};
constexpr Duration between_looks{300};

Duration patience_of(const Facts& facts) {
  return facts.launcher ? launcher_patience : std::clamp(facts.grace / 3, launcher_patience, longest_patience);
}

// Argo labels the pod, and later the Workflow, as completed a second or more before the first signal (kfp.md §10).
bool completed(const Json* metadata) { return text(at(metadata, "labels"), "workflows.argoproj.io/completed") == "true"; }

bool deleting(const Json* metadata) { return at(metadata, "deletionTimestamp") != nullptr; }

// The kubelet ends a pod of its own accord – pressure on its node, a shutdown – without anybody's deleting it. A deadline of the pod's own is none of
// that.
std::optional<Time> disrupted_since(const Json* status, std::optional<Time> now) {
  const auto* conditions = at(status, "conditions");
  if (conditions != nullptr && conditions->is_array())
    for (const auto& condition : *conditions)
      if (text(&condition, "type") == "DisruptionTarget" && text(&condition, "status") == "True") {
        const auto since = from_rfc3339(text(&condition, "lastTransitionTime"));
        return since ? since : now;
      }
  const auto reason = text(status, "reason");
  return reason == "Evicted" || reason == "NodeShutdown" || reason == "Terminated" ? now : std::nullopt;
}

kube::WatchOptions options(kube::Path path, const std::string& name) {
  kube::WatchOptions result;
  result.path = std::move(path);
  result.field_selector = "metadata.name=" + name;
  result.metadata_only = true;
  return result;
}

kube::Path pods(const Facts& facts) { return {"v1", "pods", facts.name_space, "", ""}; }
kube::Path workflows(const Facts& facts) { return {facts.workflow->api_version, "workflows", facts.name_space, "", ""}; }

}  // namespace

OwnLife::OwnLife(kube::Client& client, const Facts& facts, std::function<void(const std::string&)> cancelled)
    : m_client(client), m_facts(facts), m_cancelled(std::move(cancelled)) {
  if (facts.pod.empty()) return;
  const auto all = [](auto look) {
    return [look](const std::vector<Json>& items) {
      for (const auto& item : items) look(item);
    };
  };
  const auto ignored = [](const kube::ApiError&) {};
  const auto blind = [this](const kube::ApiError&) { m_blind = true; };
  const auto pod = [this](const Json& object) { look_at_pod(object); };
  m_pod = std::make_unique<kube::Watch>(client, options(pods(facts), facts.pod), kube::Watch::Sink{all(pod), pod, pod, ignored});
  if (!facts.workflow) return;
  const auto workflow = [this](const Json& object) { look_at_workflow(object); };
  kube::Watch::Sink workflow_sink{[this, each = all(workflow)](const std::vector<Json>& items) {
                                    each(items);
                                    if (items.empty()) workflow_gone();
                                  },
                                  workflow, [this](const Json&) { workflow_gone(); }, blind};
  m_workflow = std::make_unique<kube::Watch>(client, options(workflows(facts), facts.workflow->name), std::move(workflow_sink));
}

OwnLife::~OwnLife() {
  m_client.cancel(m_pod_call);
  m_client.cancel(m_workflow_call);
  m_client.loop().cancel(m_timer);
  m_client.loop().cancel(m_next_look);
}

void OwnLife::look_at_pod(const Json& pod) {
  const auto* metadata = metadata_of(pod);
  if (text(metadata, "uid") != m_facts.pod_uid) return;
  if (completed(metadata)) return cancel("the workflow was stopped, or its deadline has passed");
  const auto deleted = from_rfc3339(text(metadata, "deletionTimestamp"));
  const auto since = deleted ? deleted : disrupted_since(at(&pod, "status"), m_client.loop().now());
  if (deleting(metadata) || since) m_eviction = Eviction{"this step's pod is evicted or deleted, its workflow goes on", since};
}

void OwnLife::look_at_workflow(const Json& workflow) {
  const auto* metadata = metadata_of(workflow);
  if (text(metadata, "uid") != m_facts.workflow->uid) return workflow_gone();
  if (completed(metadata)) cancel("the workflow has ended");
  if (deleting(metadata)) cancel("the workflow is being deleted");
}

void OwnLife::workflow_gone() { cancel("the workflow was deleted"); }

void OwnLife::cancel(const std::string& what) {
  if (std::exchange(m_done, true)) return;
  m_cancelled(what);
  answer(std::nullopt);
}

void OwnLife::ask_why(Why done) {
  if (m_why) return;
  m_why = std::move(done);
  if (m_facts.pod.empty() || !m_facts.workflow || m_done || m_blind) return answer(std::nullopt);
  m_timer = m_client.loop().after(patience_of(m_facts), [this] { answer(std::nullopt); });
  look();
}

bool OwnLife::hurry() {
  const bool open = m_why != nullptr;
  answer(std::nullopt);
  return open;
}

// Side by side: there may be no time for one after the other.
void OwnLife::look() {
  m_workflow_lives = false;
  auto pod = pods(m_facts);
  pod.name = m_facts.pod;
  m_pod_call = m_client.get(pod, {}, {}, [this](const kube::Answer& answer) {
    m_pod_call = 0;
    if (answer) look_at_pod(*answer);
    const bool replaced = answer && uid_of(*answer) != m_facts.pod_uid;
    if (replaced || (!answer && answer.error().status == 404)) m_eviction = Eviction{"this step's pod is gone, its workflow goes on", std::nullopt};
    look_at_both();
  });
  const auto name = "metadata.name=" + m_facts.workflow->name;
  m_workflow_call = m_client.list(workflows(m_facts), {{"fieldSelector", name}}, {},
                                  [this](const kube::Answer& answer) {
                                    m_workflow_call = 0;
                                    if (!answer) return look_at_both();  // it may not be seen: in doubt it is a cancel
                                    const auto& items = (*answer)["items"].get_ref<const Json::array_t&>();
                                    if (items.empty()) return workflow_gone();
                                    look_at_workflow(items.front());
                                    m_workflow_lives = !m_done;
                                    look_at_both();
                                  },
                                  {.metadata_only = true});
}

void OwnLife::look_at_both() {
  if (m_done || !m_why) return;
  if (m_eviction && m_workflow_lives) return answer(m_eviction);
  if (m_pod_call != 0 || m_workflow_call != 0) return;
  m_next_look = m_client.loop().after(between_looks, [this] { look(); });
}

void OwnLife::answer(std::optional<Eviction> eviction) {
  m_client.cancel(std::exchange(m_pod_call, 0));
  m_client.cancel(std::exchange(m_workflow_call, 0));
  m_client.loop().cancel(std::exchange(m_timer, 0));
  m_client.loop().cancel(std::exchange(m_next_look, 0));
  const auto why = std::exchange(m_why, nullptr);  // whoever is called may destroy this
  if (why) why(std::move(eviction));
}

}  // namespace trainstep::cluster
