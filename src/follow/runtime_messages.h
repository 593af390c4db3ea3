// Messages of kubelets and container runtimes when no program ran, or when its end was not seen. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "follow/event.h"
#include "result/verdict.h"

namespace trainstep::follow {

// Why a runtime could not create or start a container, by its message. True: the command, image or settings, which are wrong on every node; false:
// the node, for example a GPU driver that does not fit.
bool is_command_error(std::string_view message);
// A helper of the runtime that sets up the container has failed (nvidia-container-cli, an OCI hook): a problem of the node, whatever else the message
// says.
bool is_hook_error(std::string_view message);

// The cause of a container's end, by the kubelet's `reason` and, for a container that was not started, the runtime's `message`.
Termination::Cause cause_of(std::string_view reason, std::string_view message);

// The class of a failure if no program is known to have caused it; unset: the program's own class, or that reported by the agent.
std::optional<result::VerdictClass> class_without_program(const Termination& ending);

}  // namespace trainstep::follow
