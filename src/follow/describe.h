// What a state machine decided and why, in words: for the log's level "debug".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "follow/event.h"
#include "follow/rules.h"

namespace trainstep::follow {

// "member_ended {"member":0,"ending":{"exit_code":1}}: stop worker-0 within 5.0 s; timer 5 in 20 s". The event as a record has it, without secrets,
// shortened. Empty: nothing was decided; to show a line is no decision.
std::string describe_decision(const Event& event, const std::vector<Action>& actions, const Rules& rules);

}  // namespace trainstep::follow
