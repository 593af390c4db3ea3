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
bool is_of_the_command(std::string_view message);
// A helper of the runtime that sets up the container has failed (nvidia-container-cli, an OCI hook): a problem of the node, whatever else the message
// says.
bool is_of_a_hook(std::string_view message);

// The reasons of a container whose message is the runtime's, not what the program left there.
bool tells_no_start(std::string_view reason);
// The kubelet only knows that it has ended (a node that was shut off): its exit code is made up.
inline constexpr std::string_view end_unseen = "ContainerStatusUnknown";

// The class of a failure if no program is known to have caused it; unset: the program's own class, or that reported by the agent.
std::optional<result::VerdictClass> class_without_program(const Termination& ending);

}  // namespace trainstep::follow
