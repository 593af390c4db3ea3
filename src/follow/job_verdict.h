// Decides how a job ended, once it has: by its status, and by the ends of its members. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/job_facts.h"
#include "result/verdict.h"

namespace trainstep::follow {

// The status must say that it has succeeded or failed. A success whose status says both, or that nothing proves, is none.
result::Verdict end_verdict(const JobFacts& facts);

}  // namespace trainstep::follow
