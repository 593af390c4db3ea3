// Reading `status.conditions`. Any JSON is allowed: what is not there, or of another shape, is absent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "job_types/job_type.h"

namespace trainstep::job_types {

// The condition of that type if its status is "True". The order of the list means nothing: it is that of the last change
// (docs/design/operators.md, Conditions). Of several of one type, which a custom resource may have, the one that changed last counts.
const Json* true_condition(const Json& object, std::string_view type);

// A judgement with the reason and message of a condition.
Judgement judged(Judgement::State state, const Json& condition);

// Reason of a judgement that no operator writes: its status says that the job has succeeded, and that it has failed. The exit codes of its pods tell.
inline constexpr std::string_view contradicted = "SucceededAndFailed";

// The same: its status says that the job has succeeded, and counts no pod that has, as where none was to be made. Whether one was there tell the
// pods.
inline constexpr std::string_view uncounted = "NoneCounted";

// What a finished job's conditions say, each null if it is not true; neither: nothing.
std::optional<Judgement> judge_end(const Json& object, const Json* success, const Json* failure);

// Created, Running, Restarting, Suspended of both operators, for a job that is not finished.
Judgement judge_unfinished(const Json& object);

const Json* status_of(const Json& object);

}  // namespace trainstep::job_types
