// What kubelets and container runtimes write when no program ran, or nobody saw its end. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "follow/event.h"
#include "result/verdict.h"

namespace trainstep::follow {

// Why a runtime could not make or start a container, by its message: the command, image or settings, which are wrong on every node, or – false – the
// node, as when the driver of its GPUs and what mounts it do not fit.
bool is_of_the_command(std::string_view message);
// What the runtime calls to set the container up has failed (nvidia-container-cli, a hook of OCI): the node's, whatever else the message says.
bool is_of_a_hook(std::string_view message);

// A container's reasons whose message is the runtime's, and not what the program left there.
bool tells_no_start(std::string_view reason);
// The kubelet knows that it has ended, and no more (a node that was shut off): its exit code is made up.
inline constexpr std::string_view end_unseen = "ContainerStatusUnknown";

// The class of a failure that no program is known to have had; unset: its own, or what the agent has told of it.
std::optional<result::VerdictClass> class_without_program(const Termination& ending);

}  // namespace trainstep::follow
