// SPDX-License-Identifier: Apache-2.0
#include "follow/job_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "follow/pod_attempts.h"
#include "follow/reasons.h"
#include "follow/runtime_messages.h"
#include "follow/termination.h"
#include "follow/triage.h"
#include "job_types/conditions.h"

namespace trainstep::follow {

using Life = MemberState::Life;
using result::VerdictClass;

namespace {

constexpr std::string_view taken_away = "a replica was removed from the job";

bool mentions(const job_types::Judgement& judgement, std::string_view words) {
  return judgement.reason.find(words) != std::string::npos || judgement.message.find(words) != std::string::npos;
}

std::optional<result::Verdict> taken_verdict(const JobFacts& facts) {
  const auto who = facts.taken();
  if (!who) return std::nullopt;
  auto state = (*facts.members)[*who];
  state.ending = termination_of(*facts.pods->pod(*who), nullptr);
  return result::Verdict{VerdictClass::capacity, std::string(taken_away), failure_of(*facts.rules, *facts.members, *who, state), true, 0};
}

// Programs that have succeeded in pods that have not: a container that was added next to one fails its pod as well.
std::string failed_beside(const JobFacts& facts) {
  for (MemberIndex i = 0; i < facts.members->size(); ++i) {
    const auto* pod = facts.pods->pod(i);
    if (pod == nullptr || (*facts.members)[i].life != Life::succeeded) continue;
    const auto& member = facts.rules->members[i];
    const auto* program = program_container(*pod, member.container);
    for (const auto& container : pod->containers)
      if (&container != program && container.termination && container.termination->exit_code != 0)
        return fmt::format("the program of {} exited with code 0, but the container {} in the same pod failed (exit code {})", member.name,
                           container.name, container.termination->exit_code);
  }
  return {};
}

// No pod shows a failure: failed pods are kept (unless somebody deletes them, or their node is lost), so it may have been anything, unless the job's
// status blames the program.
result::Verdict unexplained_failure(const JobFacts& facts) {
  const auto& [state, reason, message] = *facts.judgement;
  const auto because = reason.empty() ? message : message.empty() ? reason : fmt::format("{}: {}", reason, message);
  auto text = fmt::format("{} failed{}{}", facts.job_rules->job, because.empty() ? "" : ": ", because);
  if (mentions(*facts.judgement, "Evicted")) return {VerdictClass::capacity, std::move(text), std::nullopt, true, 0};
  if (facts.gave_up && facts.pending != nullptr) text += "; " + facts.pending->what();
  const bool of_a_pod_failure_policy = mentions(*facts.judgement, "failed with exit code");
  if (facts.gave_up || failed_by_restarts(*facts.judgement) || of_a_pod_failure_policy)
    return {VerdictClass::user, std::move(text), std::nullopt, false, 0};
  if (auto taken = taken_verdict(facts)) return *std::move(taken);
  if (const auto beside = failed_beside(facts); !beside.empty())
    return {VerdictClass::system, fmt::format("{}; {}", text, beside), std::nullopt, true, 0};
  text += fmt::format("; {}, so it is unknown whether the training program failed", !facts.hidden.empty() ? "no permission to list its pods"
                                                                                    : facts.pods->any()   ? "none of its pods shows why"
                                                                                                          : "no remaining pod shows why");
  return {VerdictClass::system, std::move(text), std::nullopt, true, 0};
}

// What its end says of the class, beyond that the program failed.
void classify(result::Verdict& verdict, const MemberState& first, const job_types::Judgement& judgement) {
  const auto ending = first.end();
  if (ending.agent_class && *ending.agent_class != VerdictClass::user) {
    verdict.verdict_class = *ending.agent_class;
    verdict.message = "the data of a replica could not be transferred";
    verdict.retry_can_help = *ending.agent_class == VerdictClass::system;
  }
  if (const auto known = class_without_program(ending)) {
    verdict.verdict_class = *known;
    verdict.message =
        ending.vanished ? "it is unknown whether the training program failed: its end was not seen" : "the training program could not be started";
    verdict.retry_can_help = *known == VerdictClass::system;
  }
  const bool stopped = ending.agent_class == VerdictClass::cancelled;  // its agent failed, before there was a program
  if (ending.cause == Termination::Cause::deadline_exceeded) {
    verdict.verdict_class = VerdictClass::timeout;
    verdict.message = "the deadline of a pod (activeDeadlineSeconds) was exceeded";
  } else if (ending.disrupted || first.life == Life::stopped || stopped ||
             (mentions(judgement, "Evicted") && ending.cause != Termination::Cause::evicted)) {
    verdict.verdict_class = VerdictClass::capacity;
    verdict.message = first.started ? taken_away : "a replica was removed, or rejected by its node, before its program started";
    verdict.retry_can_help = true;
  }
}

result::Verdict failure_verdict(const JobFacts& facts) {
  if (facts.judgement->reason == kept_in_vain)
    return {VerdictClass::capacity, "the job ended at the deadline set by an attempt of this step", std::nullopt, true, 0};
  if (mentions(*facts.judgement, "DeadlineExceeded") || mentions(*facts.judgement, "longer than specified deadline"))
    return {VerdictClass::timeout, "its deadline (job_options.run_policy.active_deadline) was exceeded", std::nullopt, false, 0};
  if (!facts.gave_up && facts.taken_first() && facts.first_to_fail()) return *taken_verdict(facts);
  const auto first = facts.first_to_fail();
  if (!first) return unexplained_failure(facts);
  auto verdict = failed_verdict(failure_of(*facts.rules, *facts.members, first->member, *first->state), first->state->attempts - 1);
  classify(verdict, *first->state, *facts.judgement);
  const auto others =
      std::ranges::count_if(*facts.members, [&](const MemberState& state) { return state.life == Life::failed && &state != first->state; });
  if (others > 0) verdict.message += fmt::format("; {} other replica{} failed after it", others, others == 1 ? "" : "s");
  if (facts.gave_up) verdict.message += fmt::format("; {}", facts.judgement->message);
  return verdict;
}

}  // namespace

result::Verdict end_verdict(const JobFacts& facts) {
  if (!facts.succeeded()) return failure_verdict(facts);
  if (facts.is_success_unconfirmed())
    return {VerdictClass::system,
            fmt::format("{} is marked as succeeded, but its status counts no succeeded pod, and no pod of its primary replica was seen: apparently "
                        "nothing was trained",
                        facts.job_rules->job),
            std::nullopt, false, 0};
  if (facts.judgement->reason != job_types::contradicted || facts.awaited_have_succeeded())
    return {VerdictClass::succeeded, "", std::nullopt, false, 0};
  // A status with both conditions is unreliable: the exit codes of the awaited members decide.
  bool failed = false;
  for (MemberIndex i = 0; i < facts.members->size(); ++i)
    failed = failed || (facts.rules->members[i].awaited && (*facts.members)[i].life == Life::failed);
  const job_types::Judgement both{job_types::Judgement::State::failed, "", "its status says both that it has succeeded and that it has failed"};
  auto known = facts;
  known.judgement = &both;
  return failed ? failure_verdict(known) : unexplained_failure(known);
}

}  // namespace trainstep::follow
