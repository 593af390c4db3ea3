// SPDX-License-Identifier: Apache-2.0
#include "follow/pending_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace trainstep::follow {
namespace {

using Kind = Pending::Kind;
using job_types::ContainerView;
using result::VerdictClass;

constexpr Duration between_first_tries{150'000};
constexpr Duration between_tries{360'000};

// For volumes (pkg/volume): only a change of the job's settings, or creating what they name, can help.
bool is_of_settings(std::string_view message) {
  const bool named = contains(message, "secret \"") || contains(message, "configmap \"");
  return (named && contains(message, "not found")) || contains(message, "references non-existent") || contains(message, "hostPath type check failed");
}

// "Unable to attach or mount volumes: …" summarizes what was reported for each volume (pkg/kubelet/volumemanager).
bool is_summary(std::string_view message) {
  return contains(message, "timed out waiting for the condition") || contains(message, "context deadline exceeded");
}

// Reasons: pkg/kubelet/events, pkg/controller/volume/attachdetach.
std::optional<Pending> pending_by_event(const PodWarningSeen& warning) {
  constexpr std::array<std::string_view, 3> volumes{"FailedMount", "FailedAttachVolume", "FailedMapVolume"};
  constexpr std::array<std::string_view, 2> node{"FailedCreatePodSandBox", "NetworkNotReady"};
  const auto message = trim(warning.message);
  if (warning.reason == "FailedMount" && is_of_settings(message))
    return Pending{Kind::configuration, "", fmt::format(": cannot mount its volumes: {}", message), minutes_5};
  if (std::ranges::find(volumes, warning.reason) != volumes.end()) {
    const auto* hint =
        contains(message, "Multi-Attach") ? " (the volume can be attached to one node at a time; a pod on another node may be using it)" : "";
    return Pending{Kind::container, "", fmt::format(": cannot mount its volumes at present: {}{}", message, hint), minutes_30, VerdictClass::system};
  }
  if (std::ranges::find(node, warning.reason) == node.end()) return std::nullopt;
  return Pending{Kind::container, "", fmt::format(": cannot be set up on its node at present: {}", message), minutes_30, VerdictClass::system};
}

}  // namespace

bool begins_unexplained(const job_types::PodView& pod) {
  if (pod.node.empty() || pod.sandboxed || pod.deleting || pod.phase != "Pending") return false;
  const auto unexplained = [](const ContainerView& container) {
    const bool usual = container.reason.empty() || container.reason == "ContainerCreating" || container.reason == "PodInitializing";
    return container.state == ContainerView::State::waiting && usual && !container.last;
  };
  return std::ranges::all_of(pod.init_containers, unexplained) && std::ranges::all_of(pod.containers, unexplained);
}

bool awaits_scheduler(const job_types::PodView& pod) { return pod.node.empty() && !pod.considered && !pod.deleting && !pod.over(); }

void PendingEvents::hear(const PodWarningSeen& warning, Time at) {
  auto pending = pending_by_event(warning);
  if (!pending || (m_heard && at < m_heard->at)) return;
  if (m_heard && is_summary(warning.message)) {
    m_heard->at = at;
    return;
  }
  const auto lasts = pending->kind == Kind::configuration ? between_first_tries : between_tries;
  m_heard = Heard{std::move(*pending), lasts, at};
}

std::optional<Pending> PendingEvents::pending(const Member& member, const job_types::PodView& pod, Time at) const {
  if (m_ignored && awaits_scheduler(pod)) {
    const auto which = pod.scheduler.empty() ? std::string() : fmt::format(" \"{}\"", pod.scheduler);
    return Pending{Kind::unschedulable, member.name,
                   fmt::format(" cannot be scheduled: no scheduler has picked it up; is{} running?", which.empty() ? " one" : which), std::nullopt};
  }
  if (!m_heard || !begins_unexplained(pod) || at - m_heard->at > m_heard->lasts) return std::nullopt;
  auto pending = m_heard->pending;
  pending.who = member.name;
  return pending;
}

}  // namespace trainstep::follow
