// SPDX-License-Identifier: Apache-2.0
#include "follow/first_to_fail.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "follow/runtime_messages.h"

namespace trainstep::follow {

using Life = MemberState::Life;

namespace {

// When it began to fail: a pod that is marked for its end takes others down while it is still in its grace period.
Time failed_at(const MemberState& state) {
  const auto ended = state.ended.value_or(Time{});
  return std::min(ended, state.end().disrupted_at.value_or(ended));
}

// Within one second, the precision of the kubelet: out of memory, disruption and a program that could not start make others fail, not the other way
// round; a member ended by SIGTERM followed another one.
std::pair<std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds>, int> rank(const MemberState& state) {
  const auto ending = state.end();
  const bool cause = ending.cause == Termination::Cause::oom_killed || ending.disrupted || class_without_program(ending);
  const bool follows = !cause && (ending.signal == SIGTERM || ending.exit_code == 128 + SIGTERM);
  return {std::chrono::floor<std::chrono::seconds>(failed_at(state)), follows ? 2 : cause ? 0 : 1};
}

bool is_earlier(const MemberState& a, const MemberState& b) { return rank(a) < rank(b); }
bool is_later(const MemberState& a, const MemberState& b) { return a.ended > b.ended; }

// `of_member`: the attempt to consider, or null. The first of equals.
template <typename OfMember, typename Before>
std::optional<Culprit> find_culprit(std::size_t members, OfMember of_member, Before before) {
  std::optional<Culprit> found;
  for (MemberIndex i = 0; i < members; ++i) {
    const MemberState* state = of_member(i);
    if (state == nullptr || !state->ending || !state->ended) continue;
    if (!found || before(*state, *found->state)) found = {i, state};
  }
  return found;
}

}  // namespace

std::optional<Culprit> first_failed(const std::vector<MemberState>& members) {
  return find_culprit(members.size(), [&](MemberIndex i) { return members[i].life == Life::failed ? &members[i] : nullptr; }, is_earlier);
}

std::optional<Culprit> first_to_fail(const std::vector<MemberState>& members, const std::vector<const MemberState*>& earlier,
                                     const job_types::Judgement& judgement) {
  if (auto failed = first_failed(members)) return failed;
  // All that failed were restarted: the last failure is the one that exceeded the limit.
  if (auto last = find_culprit(members.size(), [&](MemberIndex i) { return earlier[i]; }, is_later)) return last;
  // Pods that another client deleted, if their end was seen and the operator does not report earlier failures.
  if (failed_by_restarts(judgement)) return std::nullopt;
  const auto stopped = [&](MemberIndex i) { return members[i].life == Life::stopped && !members[i].end().vanished ? &members[i] : nullptr; };
  return find_culprit(members.size(), stopped, is_earlier);
}

bool failed_by_restarts(const job_types::Judgement& judgement) {
  constexpr std::string_view words = "because it has reached the specified backoff limit";
  return contains(judgement.reason, words) || contains(judgement.message, words);
}

}  // namespace trainstep::follow
