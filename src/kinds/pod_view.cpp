// SPDX-License-Identifier: Apache-2.0
#include "kinds/pod_view.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace trainstep::kinds {
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

// Where the runtime tells no signal, OOMKilled is one all the same: the kernel's SIGKILL.
Termination read_termination(const Json* object) {
  Termination termination;
  termination.exit_code = number(object, "exitCode").value_or(0);
  termination.signal = number(object, "signal");
  if (termination.signal == 0) termination.signal.reset();
  termination.reason = text(object, "reason");
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

void read_conditions(const Json* status, PodView& pod) {
  const auto* conditions = member(status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return;
  for (const auto& condition : *conditions) {
    const auto type = text(&condition, "type");
    const auto value = text(&condition, "status");
    if (type == "PodScheduled" && value == "False") pod.unschedulable = text(&condition, "message");
    if (type == "DisruptionTarget" && value == "True") pod.disruption = text(&condition, "reason");
  }
}

}  // namespace

const ContainerView* PodView::container(const std::string& container_name) const {
  const auto found = std::ranges::find(containers, container_name, &ContainerView::name);
  return found == containers.end() ? nullptr : &*found;
}

bool PodView::disrupted() const {
  constexpr std::array<std::string_view, 8> reasons{
      "Evicted", "NodeLost", "NodeShutdown", "Terminated", "Preempting", "Shutdown", "UnexpectedAdmissionError", "NodeAffinity"};
  return !disruption.empty() || std::ranges::find(reasons, reason) != reasons.end();
}

PodView read_pod(const Json& object) {
  PodView pod;
  const auto* metadata = member(&object, "metadata");
  const auto* status = member(&object, "status");
  pod.name = text(metadata, "name");
  pod.uid = text(metadata, "uid");
  pod.created = time(metadata, "creationTimestamp");
  pod.deleting = member(metadata, "deletionTimestamp") != nullptr;
  pod.node = text(member(&object, "spec"), "nodeName");
  pod.phase = text(status, "phase");
  pod.reason = text(status, "reason");
  pod.message = text(status, "message");
  read_conditions(status, pod);
  pod.init_containers = read_containers(status, "initContainerStatuses");
  pod.containers = read_containers(status, "containerStatuses");
  return pod;
}

}  // namespace trainstep::kinds
