// SPDX-License-Identifier: Apache-2.0
#include "job_types/pod_view.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace trainstep::job_types {
namespace {

const Json* member(const Json* object, std::string_view key) {
  return object != nullptr && object->is_object() ? trainstep::find(*object, key) : nullptr;
}

std::string text(const Json* object, std::string_view key) {
  const auto* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::optional<int> number(const Json* object, std::string_view key) {
  const auto* value = member(object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<int>();
}

std::optional<Time> time(const Json* object, std::string_view key) { return from_rfc3339(text(object, key)); }

// The container runtime interface has no field for a signal (CRI ContainerStatus): it is reported as exit code 128 + signal. Programs do not use
// these codes for anything else.
std::optional<int> signal_of(int exit_code) {
  constexpr std::array<int, 8> deadly{SIGINT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM};
  const auto* const found = std::ranges::find(deadly, exit_code - 128);
  return found == deadly.end() ? std::nullopt : std::optional(*found);
}

ContainerStateTerminated read_termination(const Json* object) {
  ContainerStateTerminated termination;
  termination.exit_code = number(object, "exitCode").value_or(0);
  termination.signal = number(object, "signal");
  if (termination.signal.value_or(0) == 0) termination.signal = signal_of(termination.exit_code);
  termination.reason = text(object, "reason");
  termination.message = text(object, "message");
  termination.started = time(object, "startedAt");
  termination.finished = time(object, "finishedAt");
  return termination;
}

ContainerView read_container(const Json& status) {
  ContainerView view;
  view.name = text(&status, "name");
  view.restarts = number(&status, "restartCount").value_or(0);
  const auto* state = member(&status, "state");
  if (const auto* running = member(state, "running")) {
    view.state = ContainerView::State::running;
    view.started = time(running, "startedAt");
  } else if (const auto* terminated = member(state, "terminated")) {
    view.state = ContainerView::State::terminated;
    view.termination = read_termination(terminated);
  } else if (const auto* waiting = member(state, "waiting")) {
    view.reason = text(waiting, "reason");
    view.message = text(waiting, "message");
  }
  if (const auto* last = member(member(&status, "lastState"), "terminated")) view.last = read_termination(last);
  return view;
}

std::vector<ContainerView> read_containers(const Json* status, std::string_view key) {
  std::vector<ContainerView> views;
  const auto* list = member(status, key);
  if (list == nullptr || !list->is_array()) return views;
  for (const auto& container : *list) views.push_back(read_container(container));
  return views;
}

// Only the spec distinguishes sidecars from other init containers.
void mark_sidecars(const Json* spec, std::vector<ContainerView>& init_containers) {
  const auto* list = member(spec, "initContainers");
  if (list == nullptr || !list->is_array()) return;
  for (const auto& container : *list) {
    const auto view = std::ranges::find(init_containers, text(&container, "name"), &ContainerView::name);
    if (view != init_containers.end() && text(&container, "restartPolicy") == "Always") view->sidecar = true;
  }
}

void read_conditions(const Json* status, PodView& pod) {
  const auto* conditions = member(status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return;
  for (const auto& condition : *conditions) {
    const auto type = text(&condition, "type");
    const auto value = text(&condition, "status");
    if (type == "PodScheduled") pod.considered = true;
    if (type == "PodReadyToStartContainers" && value == "True") pod.sandboxed = true;
    if (type == "PodScheduled" && value == "False") pod.unschedulable = text(&condition, "message");
    if (type == "PodScheduled" && value == "True") pod.scheduled = time(&condition, "lastTransitionTime");
    if (type != "DisruptionTarget" || value != "True") continue;
    pod.disruption = text(&condition, "reason");
    pod.disrupted_at = time(&condition, "lastTransitionTime");
  }
}

}  // namespace

const ContainerView* PodView::container(const std::string& container_name) const {
  const auto found = std::ranges::find(containers, container_name, &ContainerView::name);
  return found == containers.end() ? nullptr : &*found;
}

bool PodView::began() const {
  const auto has_begun = [](const ContainerView& one) { return one.state != ContainerView::State::waiting || one.last; };
  return std::ranges::any_of(init_containers, has_begun) || std::ranges::any_of(containers, has_begun);
}

// The kubelet's messages (pkg/kubelet/eviction/eviction_manager.go): "Usage of EmptyDir volume "x" exceeds the limit", "Pod ephemeral local storage
// usage exceeds the total limit of containers", "Container x exceeded its local ephemeral storage limit".
bool PodView::over_its_limit() const {
  return reason == "Evicted" && (message.find(" exceeds the ") != std::string::npos || message.find(" exceeded its ") != std::string::npos);
}

bool PodView::disrupted() const {
  if (over_its_limit()) return false;
  constexpr std::array<std::string_view, 8> reasons{
      "Evicted", "NodeLost", "NodeShutdown", "Terminated", "Preempting", "Shutdown", "UnexpectedAdmissionError", "NodeAffinity"};
  // "OutOfcpu", "OutOfpods", …: the kubelet had no resources left for a pod that the scheduler had assigned.
  return !disruption.empty() || std::ranges::find(reasons, reason) != reasons.end() || reason.starts_with("OutOf");
}

PodView read_pod(const Json& object) {
  PodView pod;
  const auto* metadata = member(&object, "metadata");
  const auto* status = member(&object, "status");
  pod.name = text(metadata, "name");
  pod.uid = text(metadata, "uid");
  pod.created = time(metadata, "creationTimestamp");
  pod.deleting = member(metadata, "deletionTimestamp") != nullptr;
  const auto* spec = member(&object, "spec");
  pod.node = text(spec, "nodeName");
  pod.scheduler = text(spec, "schedulerName");
  pod.phase = text(status, "phase");
  pod.reason = text(status, "reason");
  pod.message = text(status, "message");
  read_conditions(status, pod);
  pod.init_containers = read_containers(status, "initContainerStatuses");
  mark_sidecars(spec, pod.init_containers);
  pod.containers = read_containers(status, "containerStatuses");
  return pod;
}

void trim_pod(Json& object) {
  if (!object.is_object()) return;
  if (auto metadata = object.find("metadata"); metadata != object.end() && metadata->is_object()) {
    metadata->erase("managedFields");
    metadata->erase("annotations");
  }
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  Json kept = Json::object();
  for (const auto* key : {"nodeName", "schedulerName", "initContainers"})
    if (const auto value = spec->find(key); value != spec->end()) kept[key] = std::move(*value);
  *spec = std::move(kept);
}

}  // namespace trainstep::job_types
