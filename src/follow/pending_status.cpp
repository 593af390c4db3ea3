// SPDX-License-Identifier: Apache-2.0
#include "follow/pending_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "follow/runtime_messages.h"
#include "job_types/job_type.h"

namespace trainstep::follow {
namespace {

using Kind = Pending::Kind;
using job_types::ContainerView;
using job_types::PodView;
using result::VerdictClass;

template <std::size_t Size>
bool any_of(const std::array<std::string_view, Size>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string with(std::string text, std::string_view message) {
  message = trim(message);
  return message.empty() ? text : fmt::format("{}: {}", text, message);
}

// Messages of servers and connections that are overloaded, restarting or unavailable: a retry may work. From net/http, gRPC, etcd, the API server's
// conflicts, registries (Docker Hub's "toomanyrequests") and container runtimes.
bool is_transient(std::string_view message) {
  // Names of images, Secrets and accounts are part of the message: a definite answer counts, whatever other words the message contains.
  constexpr auto answers = std::to_array<std::string_view>({"not found", "manifest unknown", "name unknown", "no such host", "access denied",
                                                            "is denied", "insufficient_scope", "401 unauthorized", "no match for platform"});
  constexpr auto transient_phrases =
      std::to_array<std::string_view>({"leader changed",
                                       "context canceled",
                                       "timed out",
                                       "timeout",
                                       "deadline exceeded",
                                       "deadlineexceeded",
                                       "connection refused",
                                       "connection reset",
                                       "connection error",
                                       "broken pipe",
                                       "unexpected eof",
                                       ": eof",
                                       "no route to host",
                                       "network is unreachable",
                                       "temporary failure",
                                       "server misbehaving",
                                       "try again",
                                       "too many requests",
                                       "toomanyrequests",
                                       "rate limit",
                                       "pull qps exceeded",
                                       "object has been modified",
                                       "object is being deleted",
                                       "already exists",
                                       "currently unable",
                                       "service unavailable",
                                       "internal server error",
                                       "internal error occurred",
                                       "bad gateway",
                                       "http2: ",
                                       "rpc error: code = unavailable",
                                       "failed calling webhook",
                                       "is reserved for",
                                       "the server is shutting down",
                                       "apiserver not ready",
                                       "overloaded",
                                       "no space left on device",     // of the node, where the kubelet removes images
                                       "unexpected commit digest"});  // of containerd: another request was downloading it
  const auto words = lower(message);
  if (contains(words, "etcdserver:")) return true;
  if (std::ranges::any_of(answers, [&](std::string_view answer) { return contains(words, answer); })) return false;
  if (std::ranges::any_of(transient_phrases, [&](std::string_view sign) { return contains(words, sign); })) return true;
  // "unexpected status code https://…: 503 Service Unavailable", "received unexpected HTTP status: 502", "status: 429"
  constexpr auto codes = std::to_array<std::string_view>({"429", "500", "502", "503", "504", "529"});
  const auto status = words.find("status");
  return status != std::string::npos && std::ranges::any_of(codes, [&](std::string_view code) {
           return contains(std::string_view(words).substr(status), fmt::format(" {}", code));
         });
}

// The kubelet's reasons (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime).
std::optional<Pending> of_container(const std::string& member, const ContainerView& container) {
  constexpr std::array<std::string_view, 4> pulls{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "SignatureValidationFailed"};
  constexpr std::array<std::string_view, 2> busy{"RegistryUnavailable", "ImageInspectError"};
  constexpr std::array<std::string_view, 2> settings{"CreateContainerConfigError", "CreateContainerError"};
  if (container.state != ContainerView::State::waiting) return std::nullopt;
  if (container.reason == "InvalidImageName") return Pending{Kind::image_name, member, with(": invalid image name", container.message), at_once};
  if (any_of(busy, container.reason) || (any_of(pulls, container.reason) && is_transient(container.message)))
    return Pending{Kind::registry, member, with(": cannot pull the image at present", container.message), minutes_30, VerdictClass::system};
  if (any_of(settings, container.reason) && (is_transient(container.message) || is_hook_error(container.message)))
    return Pending{Kind::container, member, with(": cannot create the container at present", container.message), minutes_30, VerdictClass::system};
  if (any_of(pulls, container.reason))
    return Pending{
        Kind::image, member,
        with(": cannot pull the image", container.message) + " (check its name; a private registry requires job_options.image_pull_secrets)",
        minutes_5};
  if (any_of(settings, container.reason))
    return Pending{Kind::configuration, member, with(": cannot create the container", container.message), minutes_2};
  return std::nullopt;
}

// An init container that fails is restarted, unless its pod's restart policy is Never; the job type decides how often.
std::optional<Pending> of_init_container(const std::string& member, const ContainerView& container) {
  if (container.sidecar || container.state != ContainerView::State::waiting || !container.last || container.last->exit_code == 0) return std::nullopt;
  return Pending{Kind::initializing, member,
                 fmt::format(": init container {} failed (exit code {}); restarting it", container.name, container.last->exit_code), std::nullopt};
}

// "Error creating: pods "train-1-x7k2p" is forbidden: exceeded quota: …": the name of the pod that was not created differs each time.
std::string_view create_error_in(std::string_view message) {
  constexpr std::string_view quota = "exceeded quota";
  if (const auto found = message.find(quota); found != std::string_view::npos) return message.substr(found);
  constexpr std::string_view head = "Error creating: ";
  return message.starts_with(head) ? message.substr(head.size()) : message;
}

}  // namespace

std::optional<Pending> pending_by_status(const Member& member, const PodView& pod) {
  if (pod.over() || pod.deleting) return std::nullopt;
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const auto& container : *containers)
      if (auto pending = of_container(member.name, container)) return pending;
  for (const auto& container : pod.init_containers)
    if (auto pending = of_init_container(member.name, container)) return pending;
  if (pod.unschedulable.empty() || !pod.node.empty()) return std::nullopt;
  // The scheduler's message for a claim that does not exist (pkg/scheduler/framework/plugins/volumebinding).
  if (contains(pod.unschedulable, "persistentvolumeclaim \"") && contains(pod.unschedulable, "not found"))
    return Pending{Kind::claim, member.name, ": " + pod.unschedulable, minutes_5};
  return Pending{Kind::unschedulable, member.name, " cannot be scheduled: " + pod.unschedulable, std::nullopt};
}

std::optional<Pending> pending_by_warning(const WarningSeen& warning) {
  if (job_types::is_refusal(warning.reason))
    return Pending{Kind::refused, warning.object, with(": rejected by its operator", warning.message), at_once};
  // mpi-operator reports it as MPIJobFailed: "worker pod created failed: …" (pkg/controller/mpi_job_controller.go), and retries.
  if (!warning.reason.starts_with("FailedCreate") && !contains(warning.message, "pod created failed")) return std::nullopt;
  const auto message = create_error_in(warning.message);
  // MPIJob v1 drops the cause: "Created worker pod:" (training-operator 1.9, pkg/controller.v1/mpi/mpijob_controller.go). It may be a quota.
  if (message.starts_with("Created "))
    return Pending{Kind::quota, warning.object, ": cannot create its pods, and the operator does not report the reason; perhaps a quota is exceeded",
                   std::nullopt};
  if (contains(message, "exceeded quota"))
    return Pending{Kind::quota, warning.object, with(": its pods are waiting for quota", message), std::nullopt};
  // A webhook that cannot be called has made no decision; a denial ("admission webhook "x" denied the request") is final, whatever its message.
  if (contains(message, "denied the request"))
    return Pending{Kind::pods_refused, warning.object, with(": its pods are rejected", message), minutes_2};
  if (!contains(message, "failed calling webhook") && is_transient(message))
    return Pending{Kind::control_plane, warning.object, with(": cannot create its pods at present", message), minutes_15, VerdictClass::system};
  if (contains(message, "failed calling webhook"))
    return Pending{Kind::webhook, warning.object, with(": cannot create its pods", message), minutes_5, VerdictClass::system};
  return Pending{Kind::pods_refused, warning.object, with(": its pods are rejected", message), minutes_2};
}

}  // namespace trainstep::follow
