// Decides from the status of a pod, and from the Warning events of its job, what keeps pods from running. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "follow/event.h"
#include "follow/pending.h"
#include "follow/rules.h"

namespace trainstep::follow {

// What keeps this pod from running; nullopt: nothing is known.
std::optional<Pending> pending_by_status(const Member& member, const job_types::PodView& pod);
// What a Warning event of a job reports about pods that do not exist; nullopt: it is about something else.
std::optional<Pending> pending_by_warning(const WarningSeen& warning);

}  // namespace trainstep::follow
