// Decides which phase a job is in, by its status and its pods. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/job_facts.h"
#include "result/timeline.h"

namespace trainstep::follow {

// `by_quota`: a warning says that pods are missing because of a quota.
result::Phase phase_of(const JobFacts& facts, bool by_quota);

}  // namespace trainstep::follow
