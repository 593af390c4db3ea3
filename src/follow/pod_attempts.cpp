// SPDX-License-Identifier: Apache-2.0
#include "follow/pod_attempts.h"

#include <fmt/format.h>

namespace trainstep::follow {

using job_types::ContainerView;

namespace {

int failures_of(const ContainerView& container) {
  const auto* end = end_of(container);
  return container.restarts + (end != nullptr && (end->exit_code != 0 || end->signal) ? 1 : 0);
}

}  // namespace

// Kubelets sort by name: the first of several may be any sidecar.
const ContainerView* program_container(const job_types::PodView& pod, const std::string& name) {
  const auto* container = pod.container(name);
  if (container != nullptr || pod.containers.empty() || (!name.empty() && pod.containers.size() > 1)) return container;
  return &pod.containers.front();
}

std::string attempt_name(const job_types::PodView& pod, const ContainerView& container) { return fmt::format("{}/{}", pod.uid, container.restarts); }

std::string previous_attempt_name(const job_types::PodView& pod, const ContainerView& container) {
  return fmt::format("{}/{}", pod.uid, container.restarts - 1);
}

bool waits_to_restart(const ContainerView& container) { return container.state == ContainerView::State::waiting && container.last; }

const job_types::ContainerStateTerminated* end_of(const ContainerView& container) {
  if (container.state == ContainerView::State::terminated) return container.termination ? &*container.termination : nullptr;
  return container.state == ContainerView::State::waiting && container.last ? &*container.last : nullptr;
}

int failures_in(const job_types::PodView& pod, const std::string& program) {
  int failures = 0;
  if (const auto* container = program_container(pod, program)) failures += failures_of(*container);
  for (const auto& container : pod.init_containers)
    if (!container.sidecar) failures += failures_of(container);
  return failures;
}

}  // namespace trainstep::follow
