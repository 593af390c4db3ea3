// A plan as the state machine wants it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/job_run_state.h"
#include "job_types/job_type.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// The kind's replicas in their order, each by index, are the members.
follow::Rules rules_of(const plan::Plan& plan);
// The same of a job that is there: its own templates say in which containers the program runs.
follow::Rules rules_of(const plan::Plan& plan, const Json& job);
follow::JobRules job_rules_of(const plan::Plan& plan);

}  // namespace trainstep::cluster
