// Derives the rules of the state machine from a plan. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/job_run_state.h"
#include "job_types/job_type.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// The members are the replicas of the job type in their order, each by index.
follow::Rules rules_of(const plan::Plan& plan);
// The same for an existing job: its own templates say in which containers the program runs.
follow::Rules rules_of(const plan::Plan& plan, const Json& job);
follow::JobRules job_rules_of(const plan::Plan& plan);

}  // namespace trainstep::cluster
