// SPDX-License-Identifier: Apache-2.0
#include "follow/pending.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace trainstep::follow {
namespace {

using Kind = Pending::Kind;
using kinds::ContainerView;
using kinds::PodView;

constexpr Duration at_once{0};
constexpr Duration minutes_2{120'000};
constexpr Duration minutes_5{300'000};

template <std::size_t Size>
bool any_of(const std::array<std::string_view, Size>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string with(std::string text, const std::string& message) { return message.empty() ? text : std::move(text) + ": " + message; }

// The kubelet's words (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime).
std::optional<Pending> of_container(const std::string& member, const ContainerView& container) {
  constexpr std::array<std::string_view, 4> pulls{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable"};
  constexpr std::array<std::string_view, 2> settings{"CreateContainerConfigError", "CreateContainerError"};
  if (container.state != ContainerView::State::waiting) return std::nullopt;
  if (container.reason == "InvalidImageName")
    return Pending{Kind::image_name, with(fmt::format("{}: the image's name is invalid", member), container.message), at_once};
  if (any_of(pulls, container.reason))
    return Pending{Kind::image, with(fmt::format("{}: the image cannot be pulled", member), container.message), minutes_5};
  if (any_of(settings, container.reason))
    return Pending{Kind::configuration, with(fmt::format("{}: the container cannot be made", member), container.message), minutes_2};
  return std::nullopt;
}

std::optional<Pending> of_pod(const std::string& member, const PodView& pod) {
  if (pod.over()) return std::nullopt;
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const auto& container : *containers)
      if (auto pending = of_container(member, container)) return pending;
  if (pod.unschedulable.empty() || !pod.node.empty()) return std::nullopt;
  // The scheduler's words for a claim that does not exist (pkg/scheduler/framework/plugins/volumebinding).
  const bool claim =
      pod.unschedulable.find("persistentvolumeclaim \"") != std::string::npos && pod.unschedulable.find("not found") != std::string::npos;
  if (claim) return Pending{Kind::claim, fmt::format("{}: {}", member, pod.unschedulable), minutes_5};
  return Pending{Kind::unschedulable, fmt::format("{} finds no place: {}", member, pod.unschedulable), std::nullopt};
}

std::optional<Pending> of_warning(const Warning& warning) {
  constexpr std::array<std::string_view, 3> refusals{"ValidationError", "MPIJobFailedValidation", "InvalidSpec"};
  if (any_of(refusals, warning.reason))
    return Pending{Kind::refused, fmt::format("the operator refuses {}: {}", warning.object, warning.message), at_once};
  if (!warning.reason.starts_with("FailedCreate")) return std::nullopt;
  if (warning.message.find("exceeded quota") != std::string::npos)
    return Pending{Kind::quota, fmt::format("quota: {}", warning.message), std::nullopt};
  return Pending{Kind::pods_refused, fmt::format("pods of {} cannot be made: {}", warning.object, warning.message), minutes_2};
}

}  // namespace

std::optional<Pending> pending_of(const std::vector<Member>& members, const std::vector<const PodView*>& pods,
                                  const std::vector<Warning>& warnings) {
  std::optional<Pending> gravest;
  const auto take = [&](std::optional<Pending> pending) {
    if (pending && (!gravest || pending->kind < gravest->kind)) gravest = std::move(pending);
  };
  bool complete = true;
  for (MemberIndex i = 0; i < pods.size(); ++i) {
    complete = complete && pods[i] != nullptr;
    if (pods[i] != nullptr) take(of_pod(members[i].name, *pods[i]));
  }
  // Old warnings mean nothing once all pods are there.
  if (!complete)
    for (const auto& warning : warnings) take(of_warning(warning));
  return gravest;
}

}  // namespace trainstep::follow
