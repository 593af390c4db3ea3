// Decides which member of a job failed first, by the ends of the members and of the attempts before. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "follow/run_state.h"
#include "job_types/job_type.h"

namespace trainstep::follow {

// The member to report as the first that failed, and its current or an earlier attempt.
struct Culprit {
  MemberIndex member;
  const MemberState* state;  // one of those that were given
};

// Of the members whose last attempt failed. nullopt: there is none.
std::optional<Culprit> first_failed(const std::vector<MemberState>& members);

// The same, or else the latest failure among `earlier` – by member, the last attempt that failed and was replaced, null: none –, or else a member
// whose pod somebody deleted, unless the job failed because of restarts, which the pods then do not show.
std::optional<Culprit> first_to_fail(const std::vector<MemberState>& members, const std::vector<const MemberState*>& earlier,
                                     const job_types::Judgement& judgement);

// The message of the v1 operator when programs were restarted too often; that of a Job ("Job has reached …") also counts deleted pods.
bool failed_by_restarts(const job_types::Judgement& judgement);

}  // namespace trainstep::follow
