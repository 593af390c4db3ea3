// SPDX-License-Identifier: Apache-2.0
#include "follow/triage.h"

#include <fmt/format.h>

#include <csignal>

#include "base/printable.h"
#include "result/mpirun.h"
#include "result/traceback.h"

namespace trainstep::follow {
namespace {

constexpr std::size_t shown_lines = 20;

// The member with MPI rank `rank`: ranks are the members that mpirun starts, in their order.
std::optional<MemberIndex> member_of_rank(const Rules& rules, int rank) {
  for (MemberIndex i = 0; i < rules.members.size(); ++i)
    if (!rules.members[i].started && rank-- == 0) return i;
  return std::nullopt;
}

// As displayed: without colours, redrawn lines in their last state.
std::vector<std::string> plain_lines(const result::Tail& tail) {
  auto lines = tail.lines();
  for (auto& line : lines) line = plain(line);
  return lines;
}

void explain(result::FirstFailure& failure, std::vector<std::string> lines) {
  if (auto traceback = result::find_traceback(lines)) {
    if (failure.reason.empty()) failure.reason = traceback->error;
    lines = std::move(traceback->lines);
  }
  if (lines.size() > shown_lines) lines.erase(lines.begin(), lines.end() - shown_lines);
  failure.last_lines = std::move(lines);
}

}  // namespace

result::FirstFailure first_failure(const Rules& rules, const std::vector<MemberState>& members, MemberIndex member) {
  return failure_of(rules, members, member, members[member]);
}

result::FirstFailure failure_of(const Rules& rules, const std::vector<MemberState>& members, MemberIndex member, const MemberState& state) {
  result::FirstFailure failure;
  failure.replica = rules.members[member].name;
  const auto ending = state.end();
  failure.signal = ending.signal;
  if (!failure.signal && !ending.vanished) failure.exit_code = ending.exit_code;
  failure.reason = ending.reason;
  auto lines = plain_lines(state.tail);
  if (const auto report = result::find_mpi_failure(lines); report && report->rank) {
    if (const auto rank = member_of_rank(rules, *report->rank)) {
      failure.replica = rules.members[*rank].name;
      failure.exit_code = report->exit_code;
      failure.signal = report->signal;
      if (!members[*rank].tail.empty()) lines = plain_lines(members[*rank].tail);
    }
  }
  explain(failure, std::move(lines));
  return failure;
}

result::Verdict failed_verdict(result::FirstFailure failure, int restarts) {
  result::Verdict verdict;
  verdict.verdict_class = result::VerdictClass::user;
  verdict.message = restarts == 0 ? "the training program failed"
                                  : fmt::format("the training program failed after {} restart{}", restarts, restarts == 1 ? "" : "s");
  if (failure.signal == SIGKILL && failure.reason.empty()) verdict.message += " (killed from outside, or out of memory)";
  verdict.first_failure = std::move(failure);
  return verdict;
}

}  // namespace trainstep::follow
