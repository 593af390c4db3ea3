// SPDX-License-Identifier: Apache-2.0
#include "follow/termination.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "follow/runtime_messages.h"
#include "result/pod_report.h"

namespace trainstep::follow {
namespace {

using job_types::ContainerStateTerminated;
using job_types::ContainerView;
using job_types::PodView;

// Reasons of the DisruptionTarget condition (Kubernetes documentation: concepts/workloads/pods/disruptions).
std::string disruption_text(const std::string& reason) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> known{{
      {"PreemptionByScheduler", "preempted by a pod of higher priority"},
      {"DeletionByTaintManager", "its node was lost or tainted"},
      {"EvictionByEvictionAPI", "its node was drained"},
      {"DeletionByPodGC", "its node is gone"},
      {"TerminationByKubelet", "ended by its node"},
  }};
  const auto* const found = std::ranges::find(known, std::string_view(reason), &std::pair<std::string_view, std::string_view>::first);
  return found == known.end() ? reason : fmt::format("{} ({})", found->second, reason);
}

std::string disruption_of(const PodView& pod) {
  const auto message = trim(pod.message);
  if (pod.reason.empty()) return disruption_text(pod.disruption);
  return message.empty() ? pod.reason : fmt::format("{}: {}", pod.reason, message);
}

Termination::Cause pod_cause(const PodView& pod) {
  if (pod.reason == "DeadlineExceeded") return Termination::Cause::deadline_exceeded;
  return pod.reason == "Evicted" ? Termination::Cause::evicted : Termination::Cause::program;
}

void take_termination(Termination& ending, const ContainerStateTerminated& termination) {
  ending.exit_code = termination.exit_code;
  ending.signal = termination.signal;
  const auto cause = cause_of(termination.reason, termination.message);
  if (cause == Termination::Cause::end_unseen) {
    ending.vanished = true;
    ending.signal.reset();
  }
  const auto report = result::read_pod_report(termination.message);
  ending.repeated = report && report->repeated;
  if (report && !report->message.empty()) {
    ending.agent_class = report->verdict_class;
    ending.reason = report->message;
    return;
  }
  ending.cause = cause;
  if (termination.reason == "Error" || termination.reason == "Completed") return;
  const bool started = cause != Termination::Cause::bad_command && cause != Termination::Cause::not_started;
  ending.reason =
      !started && !termination.message.empty() ? fmt::format("{}: {}", termination.reason, trim(termination.message)) : termination.reason;
}

// How it ended last; null: it has not ended.
const ContainerStateTerminated* last_end(const ContainerView& container) {
  if (container.termination) return &*container.termination;
  return container.last ? &*container.last : nullptr;
}

}  // namespace

const ContainerView* failed_init_container(const PodView& pod) {
  const ContainerView* first = nullptr;
  for (const auto& container : pod.init_containers) {
    const auto* end = last_end(container);
    if (container.sidecar || container.state == ContainerView::State::running || end == nullptr || end->exit_code == 0) continue;
    if (first == nullptr) first = &container;
  }
  return first;
}

Termination termination_of(const PodView& pod, const ContainerStateTerminated* termination) {
  Termination ending;
  const auto* init = termination == nullptr ? failed_init_container(pod) : nullptr;
  const auto* end = termination == nullptr && init != nullptr ? last_end(*init) : termination;
  if (end == nullptr)
    ending.vanished = pod.phase != "Succeeded";
  else
    take_termination(ending, *end);
  if (init != nullptr) ending.init_container = init->name;
  if (init != nullptr) ending.reason = fmt::format("init container {} failed{}{}", init->name, ending.reason.empty() ? "" : ": ", ending.reason);
  if (ending.succeeded()) return ending;
  // "TopologyAffinityError", "VolumeAttachmentLimitExceeded", …: the kubelet did not admit it.
  const bool refused = end == nullptr && pod.phase == "Failed" && !pod.reason.empty() && !pod.began() && !pod.over_its_limit();
  ending.disrupted = refused || (pod.disrupted() && ending.cause != Termination::Cause::oom_killed);
  if (ending.disrupted) ending.disrupted_at = pod.disrupted_at;
  if (ending.disrupted || (ending.reason.empty() && !pod.reason.empty())) {
    ending.reason = disruption_of(pod);
    ending.cause = pod_cause(pod);
  }
  return ending;
}

bool stopped_by_deletion(const PodView& pod, const Termination& ending) {
  return pod.deleting && !ending.succeeded() && !ending.disrupted && ending.cause != Termination::Cause::oom_killed;
}

}  // namespace trainstep::follow
