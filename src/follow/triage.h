// Finds the first failure and its reason, from the ends and the last lines of all members. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "follow/run_state.h"
#include "result/verdict.h"

namespace trainstep::follow {

// What is known about the failure of `member`, whose end is set. If mpirun failed, its report names the rank, and the log of the rank gives the
// reason.
result::FirstFailure first_failure(const Rules& rules, const std::vector<MemberState>& members, MemberIndex member);

// The same for `state`, which may be an earlier attempt of the member.
result::FirstFailure failure_of(const Rules& rules, const std::vector<MemberState>& members, MemberIndex member, const MemberState& state);

// The verdict `user` for a program that failed after this many restarts.
result::Verdict failed_verdict(result::FirstFailure failure, int restarts);

// Calls take(line, near_end) for each line of `lines` (complete lines; passed without newline); near_end: it is among the last 200, the size of a
// Tail.
template <typename Take>
void for_each_line(std::string_view lines, Take take) {
  constexpr int kept = 200;
  const char* tail = lines.data() + lines.size();
  for (int i = 0; i <= kept && tail != lines.data(); ++i) {
    const auto* newline = static_cast<const char*>(::memrchr(lines.data(), '\n', static_cast<std::size_t>(tail - lines.data())));
    tail = newline == nullptr ? lines.data() : newline;
  }
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    const auto line = lines.substr(0, end);
    take(line, line.data() >= tail);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

}  // namespace trainstep::follow
