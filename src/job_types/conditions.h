// Reads `status.conditions`. Accepts any JSON: missing members, and those of another shape, count as absent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "job_types/job_type.h"

namespace trainstep::job_types {

// The condition of that type if its status is "True". The order of the list is meaningless: it is that of the last change (docs/design/operators.md,
// Conditions). If there are several of one type, which a custom resource may have, the most recently changed one is used.
const Json* true_condition(const Json& object, std::string_view type);

// A judgement with the reason and message of a condition.
Judgement judged(Judgement::State state, const Json& condition);

// Reason of a judgement, not written by any operator: the status says both that the job has succeeded and that it has failed. The exit codes of its
// pods decide.
inline constexpr std::string_view contradicted = "SucceededAndFailed";

// Likewise: the status says that the job has succeeded, but counts no succeeded pod, as if none was to be created. The pods show whether there was
// one.
inline constexpr std::string_view uncounted = "NoneCounted";

// The judgement of a finished job's conditions; each is null if it is not true. If both are null: nullopt.
std::optional<Judgement> judge_end(const Json& object, const Json* success, const Json* failure);

// The conditions Created, Running, Restarting and Suspended of both operators, for an unfinished job.
Judgement judge_unfinished(const Json& object);

// The object's `status`; null if it is absent or not an object.
const Json* status_of(const Json& object);

}  // namespace trainstep::job_types
