// The verdicts of a step that does not wait for the end of its job, and what they say. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "follow/event.h"
#include "follow/job_rules.h"
#include "follow/pending.h"
#include "follow/rules.h"
#include "result/timeline.h"
#include "result/verdict.h"

namespace trainstep::follow {

// No status, no pods and no event for JobRules::operator_absent.
result::Verdict no_operator(const JobRules& rules);
// The same, as a message, when that has lasted for `lasted`.
std::string no_operator_yet(const JobRules& rules, Duration lasted);

// A limit for a phase has passed. `pending`: the obstacle that is known, or null; one that would have become final is the reason, even if it appeared
// late in the phase.
result::Verdict limit_exceeded(const Rules& rules, result::Phase phase, Duration limit, const Pending* pending);
// The limit for the whole step has.
result::Verdict total_exceeded(const Rules& rules, Duration limit, const Pending* pending);

// Somebody else has deleted the job. `more`: how far it is gone; may be empty.
result::Verdict deleted_by_others(const JobRules& rules, const std::string& more);
// Somebody else is deleting it, and its finalizers have held it for JobRules::deletion.
result::Verdict held_by_finalizers(const JobRules& rules, const std::string& finalizers);

// The step was evicted, and another attempt of it follows. `found`: there is a job.
result::Verdict left_to_next(const EvictionSeen& eviction, bool found, int signal);
// … but somebody is deleting the job: a deadline has no effect on it, and its finalizers may hold it for ever.
result::Verdict not_left_deleting(const EvictionSeen& eviction, int signal);
// … but it could not be given a deadline, because of `why`: a job that would have no end of its own is never left behind.
result::Verdict not_left(const EvictionSeen& eviction, const Error& why, int signal);
// Another attempt of the step follows the job already. `verdict`: of this one, or null.
result::Verdict followed_by_another(const result::Verdict* verdict);

result::Verdict cancelled(std::string what, int signal);
// An observer has lost sight of it.
result::Verdict lost_sight(const JobRules& rules, const Error& why);

// The step has to end, maybe within milliseconds.
bool is_hurried(const result::Verdict& verdict);

}  // namespace trainstep::follow
