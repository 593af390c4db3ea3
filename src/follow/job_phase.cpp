// SPDX-License-Identifier: Apache-2.0
#include "follow/job_phase.h"

#include <cstddef>

namespace trainstep::follow {

result::Phase phase_of(const JobFacts& facts, bool by_quota) {
  using enum result::Phase;
  using State = job_types::Judgement::State;
  const auto& pods = *facts.pods;
  if (facts.judgement->state == State::suspended) return queued;
  if (facts.awaited_have_succeeded()) return finishing;
  std::size_t there = 0, placed = 0;
  bool primary_there = false, primary_began = false;
  for (MemberIndex i = 0; i < pods.size(); ++i) {
    const auto* pod = pods.pod(i);
    if (pod != nullptr) ++there;
    if ((pod != nullptr && !pod->node.empty()) || (*facts.members)[i].life == MemberState::Life::succeeded) ++placed;
    if (!facts.rules->members[i].primary) continue;
    primary_there = pod != nullptr;
    primary_began = pods.began(i);
  }
  // If the pods cannot be seen, the status of the job is all that is known.
  if (there == 0 && !facts.hidden.empty() && facts.judgement->state == State::running) return running;
  if (there == 0) return queued;
  const auto needed = facts.job_rules->needed == 0 ? pods.size() : facts.job_rules->needed;
  if (there < needed && by_quota) return queued;
  if (placed >= needed) return primary_began ? running : starting;
  // The MPI launcher is created when all workers are ready: until then its pod is not missing.
  const bool only_primary_is_missing = !primary_there && placed + 1 == needed && placed > 0;
  return only_primary_is_missing ? starting : scheduling;
}

}  // namespace trainstep::follow
