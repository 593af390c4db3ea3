// SPDX-License-Identifier: Apache-2.0
#include "cluster/workflow_monitor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "cluster/objects.h"
#include "cluster/presence.h"

namespace trainstep::cluster {
namespace {

// Under KFP v2 the program may have 47 ms after a SIGTERM (docs/design/kfp.md, Signals); elsewhere the rest of the grace is for the DELETE.
constexpr Duration launcher_timeout{30};
constexpr Duration max_timeout{10'000};
constexpr Duration end_timeout{2'000};
constexpr Duration interval{300};
constexpr int lists_without_workflow = 3;
constexpr std::string_view stopped_or_late = "the workflow was stopped, or its deadline was exceeded";
constexpr std::int64_t max_workflow_duration = 1'000'000'000;  // seconds

Duration cause_timeout(const Facts& facts) { return facts.launcher ? launcher_timeout : std::clamp(facts.grace / 3, launcher_timeout, max_timeout); }

// When a Workflow is stopped, Argo labels the pod, and later the Workflow, as completed a second or more before the first signal (docs/design/kfp.md,
// Signals).
bool completed(const Json* metadata) { return text(at(metadata, "labels"), "workflows.argoproj.io/completed") == "true"; }

bool deleting(const Json* metadata) { return at(metadata, "deletionTimestamp") != nullptr; }

// The kubelet itself may end a pod – pressure on its node, a shutdown – without a deletion. The pod's own deadline does not count.
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

bool is_lost(const Json& pod) { return deleting(metadata_of(pod)) || disrupted_since(at(&pod, "status"), Time{}).has_value(); }

// Argo counts from the start of the Workflow; one created from a template has that template's deadline in its status.
bool is_past_deadline(const Json& workflow, Time now) {
  const auto* status = at(&workflow, "status");
  const auto started = from_rfc3339(text(status, "startedAt"));
  if (!started) return false;
  return std::ranges::any_of(std::array{at(&workflow, "spec"), at(status, "storedWorkflowTemplateSpec")}, [&](const Json* spec) {
    const auto* seconds = at(spec, "activeDeadlineSeconds");
    if (seconds == nullptr || !seconds->is_number_integer()) return false;
    return now >= *started + std::chrono::seconds(std::clamp<std::int64_t>(seconds->get<std::int64_t>(), 0, max_workflow_duration));
  });
}

// Why Argo starts no other attempt of a step, although nothing is labelled yet; empty: it may. A Workflow that is being stopped still runs its exit
// handlers, but does not repeat them.
std::string why_no_other_attempt(const Json& workflow, Time now) {
  if (!text(at(&workflow, "spec"), "shutdown").empty()) return "the workflow is being stopped";
  return is_past_deadline(workflow, now) ? "the workflow's deadline was exceeded" : "";
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

WorkflowMonitor::WorkflowMonitor(kube::Client& client, const Facts& facts, std::function<void(const std::string&)> cancelled,
                                 std::function<void()> missed)
    : m_client(client), m_facts(facts), m_cancelled(std::move(cancelled)), m_missed(std::move(missed)) {
  if (facts.pod.empty()) return;
  const auto all = [](auto look) {
    return [look](const std::vector<Json>& items) {
      for (const auto& item : items) look(item);
    };
  };
  const auto ignored = [](const kube::ApiError&) {};
  const auto blind = [this](const kube::ApiError&) { m_blind = true; };
  const auto pod = [this](const Json& object) { handle_pod(object, false); };
  kube::Watch::Sink pod_sink{[this, each = all(pod)](const std::vector<Json>& items) {
                               each(items);
                               if (items.empty()) m_missed();
                             },
                             pod,
                             [this, pod](const Json& object) {
                               pod(object);
                               m_missed();
                             },
                             ignored};
  m_pod = std::make_unique<kube::Watch>(client, options(pods(facts), facts.pod), std::move(pod_sink));
  if (!facts.workflow) return;
  const auto workflow = [this](const Json& object) {
    completed(metadata_of(object)) && uid_of(object) == m_facts.workflow->uid ? confirm_end() : handle_workflow(object);
  };
  kube::Watch::Sink workflow_sink{
      [this, each = all(workflow)](const std::vector<Json>& items) {
        each(items);
        if (items.empty()) ask_for_workflow();
      },
      workflow, [this](const Json& object) { uid_of(object) == m_facts.workflow->uid ? workflow_gone() : ask_for_workflow(); }, blind};
  m_workflow = std::make_unique<kube::Watch>(client, options(workflows(facts), facts.workflow->name), std::move(workflow_sink));
}

Time WorkflowMonitor::clusters_now() const { return m_client.loop().now() + m_client.clock().value_or(Duration{0}); }

// `whole`: not only its metadata.
void WorkflowMonitor::handle_pod(const Json& pod, bool whole) {
  const auto* metadata = metadata_of(pod);
  if (text(metadata, "uid") != m_facts.pod_uid) return;
  if (completed(metadata) && !whole) ask_who_completed();
  if (completed(metadata) && whole && !is_lost(pod)) return cancel(std::string(stopped_or_late));
  const auto deleted = from_rfc3339(text(metadata, "deletionTimestamp"));
  const auto since = deleted ? deleted : disrupted_since(at(&pod, "status"), clusters_now());
  if (deleting(metadata) || since) m_eviction = Eviction{"this step's pod is being evicted or deleted, but its workflow continues", since};
}

// Argo also labels a lost pod – deleted, ended by its node – like that, and starts the next attempt while our process still runs. The whole pod tells
// the two apart; in doubt it is a cancel.
void WorkflowMonitor::ask_who_completed() {
  if (m_done || m_completed_call) return;
  auto path = pods(m_facts);
  path.name = m_facts.pod;
  m_completed_call = m_client.get(path, {}, {}, [this](const kube::Answer& answer) {
    m_completed_call = {};
    handle_completed_pod(answer);
  });
}

void WorkflowMonitor::handle_completed_pod(const kube::Answer& answer) {
  const auto presence = presence_of(answer, m_facts.pod, m_facts.pod_uid);
  const bool lost = presence == Presence::gone || (presence == Presence::there && is_lost(*answer));
  if (!lost) return cancel(std::string(stopped_or_late));
  if (!m_facts.workflow) return;
  const auto name = "metadata.name=" + m_facts.workflow->name;
  // A stopped Workflow deletes its pods as well: after the signal there may be no time to read it.
  m_completed_call = m_client.list(workflows(m_facts), {{"fieldSelector", name}}, {}, [this](const kube::Answer& list) {
    m_completed_call = {};
    if (!list) return;
    for (const auto& item : (*list)["items"])
      if (uid_of(item) == m_facts.workflow->uid) end_if_over(item);
  });
}

void WorkflowMonitor::handle_workflow(const Json& workflow) {
  const auto* metadata = metadata_of(workflow);
  if (text(metadata, "uid") != m_facts.workflow->uid) return ask_for_workflow();
  if (completed(metadata)) cancel("the workflow has ended");
  if (deleting(metadata)) cancel("the workflow is being deleted");
}

// A watch that was stuck may report an old end of a Workflow that was retried since. Without a response soon it is believed.
void WorkflowMonitor::confirm_end() {
  if (m_done || m_end_call) return;
  const auto name = "metadata.name=" + m_facts.workflow->name;
  const auto looked = [this](const kube::Answer& list) {
    m_end_call = {};
    if (list)
      for (const auto& item : (*list)["items"])
        if (uid_of(item) == m_facts.workflow->uid && !completed(metadata_of(item))) return handle_workflow(item);
    cancel("the workflow has ended");
  };
  m_end_call = m_client.list(workflows(m_facts), {{"fieldSelector", name}}, {end_timeout}, looked, {.metadata_only = true});
}

// It is missing from a list, or its name belongs to another one. A list may be outdated: only a GET by its name counts.
void WorkflowMonitor::ask_for_workflow() {
  if (m_done || m_get || m_get_timer) return;
  auto path = workflows(m_facts);
  path.name = m_facts.workflow->name;
  m_get = m_client.get(path, {}, {}, [this](const kube::Answer& answer) {
    m_get = {};
    const auto presence = presence_of(answer, m_facts.workflow->name, m_facts.workflow->uid);
    if (presence == Presence::there) return seen_again(*answer);
    if (presence == Presence::gone) return workflow_gone();
    if (!answer && answer.error().status == 403) return list_workflow();
    ask_later([this] { ask_for_workflow(); });
  });
}

void WorkflowMonitor::ask_later(std::function<void()> ask) {
  m_get_timer = m_client.loop().timer(m_client.pause(++m_unanswered_gets), [this, ask = std::move(ask)] {
    m_get_timer = {};
    ask();
  });
}

// Without the permission to get it, several lists in a row are believed.
void WorkflowMonitor::list_workflow() {
  const auto name = "metadata.name=" + m_facts.workflow->name;
  const auto looked = [this](const kube::Answer& answer) {
    m_get = {};
    if (!answer) return ask_later([this] { list_workflow(); });
    for (const auto& item : (*answer)["items"])
      if (uid_of(item) == m_facts.workflow->uid) return seen_again(item);
    if (++m_lists_without >= lists_without_workflow) return workflow_gone();
    ask_later([this] { list_workflow(); });
  };
  m_get = m_client.list(workflows(m_facts), {{"fieldSelector", name}}, {}, looked, {.metadata_only = true});
}

void WorkflowMonitor::seen_again(const Json& workflow) {
  m_unanswered_gets = m_lists_without = 0;
  handle_workflow(workflow);
}

void WorkflowMonitor::workflow_gone() { cancel("the workflow was deleted"); }

void WorkflowMonitor::cancel(const std::string& what) {
  if (std::exchange(m_done, true)) return;
  m_cancelled(what);
  answer(std::nullopt);
}

void WorkflowMonitor::ask_why(Why done) {
  if (m_why) return;
  m_why = std::move(done);
  if (m_facts.pod.empty() || !m_facts.workflow || m_done || m_blind) return answer(std::nullopt);
  m_timer = m_client.loop().timer(cause_timeout(m_facts), [this] { answer(std::nullopt); });
  look();
}

bool WorkflowMonitor::hurry() {
  const bool open = m_why != nullptr;
  answer(std::nullopt);
  return open;
}

// In parallel: there may be no time for one after the other.
void WorkflowMonitor::look() {
  m_workflow_lives = false;
  auto pod = pods(m_facts);
  pod.name = m_facts.pod;
  m_pod_call = m_client.get(pod, {}, {}, [this](const kube::Answer& answer) {
    m_pod_call = {};
    if (answer) handle_pod(*answer, true);
    const bool gone = presence_of(answer, m_facts.pod, m_facts.pod_uid) == Presence::gone;
    if (gone) m_eviction = Eviction{"this step's pod is gone, but its workflow continues", std::nullopt};
    check_both();
  });
  const auto name = "metadata.name=" + m_facts.workflow->name;
  m_workflow_call = m_client.list(workflows(m_facts), {{"fieldSelector", name}}, {}, [this](const kube::Answer& answer) {
    m_workflow_call = {};
    if (!answer) return check_both();  // it may not be seen: in doubt it is a cancel
    const auto& items = (*answer)["items"].get_ref<const Json::array_t&>();
    if (items.empty() || uid_of(items.front()) != m_facts.workflow->uid) return confirm_by_name();
    look_whether_it_lives(items.front());
  });
}

// A signal was received, and the list does not have the Workflow. Without the permission to get it by its name: in doubt it is gone.
void WorkflowMonitor::confirm_by_name() {
  auto path = workflows(m_facts);
  path.name = m_facts.workflow->name;
  m_workflow_call = m_client.get(path, {}, {}, [this](const kube::Answer& answer) {
    m_workflow_call = {};
    const auto presence = presence_of(answer, m_facts.workflow->name, m_facts.workflow->uid);
    if (presence == Presence::gone || (!answer && answer.error().status == 403)) return workflow_gone();
    presence == Presence::there ? look_whether_it_lives(*answer) : check_both();
  });
}

// This is the whole Workflow: what its metadata do not tell counts as well.
void WorkflowMonitor::end_if_over(const Json& workflow) {
  handle_workflow(workflow);
  if (const auto why = why_no_other_attempt(workflow, clusters_now()); !why.empty()) cancel(why);
}

// A signal was received.
void WorkflowMonitor::look_whether_it_lives(const Json& workflow) {
  end_if_over(workflow);
  m_workflow_lives = !m_done;
  check_both();
}

void WorkflowMonitor::check_both() {
  if (m_done || !m_why) return;
  if (m_eviction && m_workflow_lives) return answer(m_eviction);
  if (m_pod_call || m_workflow_call) return;
  m_next_look = m_client.loop().timer(interval, [this] { look(); });
}

void WorkflowMonitor::answer(std::optional<Eviction> eviction) {
  m_pod_call.cancel();
  m_workflow_call.cancel();
  m_timer.cancel();
  m_next_look.cancel();
  const auto why = std::exchange(m_why, nullptr);  // the callback may destroy this object
  if (why) why(std::move(eviction));
}

}  // namespace trainstep::cluster
