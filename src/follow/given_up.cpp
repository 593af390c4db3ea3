// SPDX-License-Identifier: Apache-2.0
#include "follow/given_up.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "follow/describe.h"

namespace trainstep::follow {

using result::Verdict;
using result::VerdictClass;

namespace {

std::string unheeded(const JobRules& rules, std::string_view when, Duration lasted) {
  return fmt::format("no controller has picked up {}{}: no status, no pods, no event for {}; is the operator of this kind running?", rules.job, when,
                     describe(lasted));
}

// `causes`: an obstacle may be the reason. `capacity`: if there is none, it is a lack of capacity.
Verdict exceeded(const Rules& rules, std::string_view phase, Duration limit, const Pending* pending, bool causes, bool capacity) {
  const auto verdict_class = capacity ? VerdictClass::capacity : VerdictClass::timeout;
  const bool known = pending != nullptr && pending->limit && causes;
  return {known ? pending->verdict_class : verdict_class,
          fmt::format("the limit of {} for {} ({}) was exceeded{}", describe_limit(limit), phase == "total" ? "the whole step" : phase,
                      limit_option(rules, phase), pending != nullptr ? "; " + pending->what() : ""),
          std::nullopt, capacity, 0};
}

}  // namespace

Verdict no_operator(const JobRules& rules) { return {VerdictClass::system, unheeded(rules, "", rules.operator_absent), std::nullopt, true, 0}; }

std::string no_operator_yet(const JobRules& rules, Duration lasted) {
  const auto waiting = rules.is_observer ? "" : fmt::format(" waiting another {}", describe(rules.operator_absent - lasted));
  return unheeded(rules, " yet", lasted) + waiting;
}

Verdict limit_exceeded(const Rules& rules, result::Phase phase, Duration limit, const Pending* pending) {
  using enum result::Phase;
  return exceeded(rules, name(phase), limit, pending, phase != running, phase == queued || phase == scheduling);
}

Verdict total_exceeded(const Rules& rules, Duration limit, const Pending* pending) { return exceeded(rules, "total", limit, pending, false, false); }

Verdict deleted_by_others(const JobRules& rules, const std::string& more) {
  return {
      VerdictClass::system,
      fmt::format("{} was deleted by another client before its outcome was seen; it is unknown whether the training succeeded{}", rules.job, more),
      std::nullopt, true, 0};
}

Verdict held_by_finalizers(const JobRules& rules, const std::string& finalizers) {
  const auto by = finalizers.empty() ? "" : fmt::format(", held by its finalizers ({})", finalizers);
  return deleted_by_others(rules, fmt::format("; after {} it still exists{}", describe(rules.deletion), by));
}

Verdict left_to_next(const EvictionSeen& eviction, bool found, int signal) {
  return {VerdictClass::interrupted, eviction.what + (found ? "; the job keeps running for the next attempt" : "; another attempt may follow"),
          std::nullopt, true, signal};
}

Verdict not_left_deleting(const EvictionSeen& eviction, int signal) {
  return {VerdictClass::interrupted, eviction.what + "; the job is being deleted by another client, so it cannot be left to the next attempt",
          std::nullopt, true, signal};
}

Verdict not_left(const EvictionSeen& eviction, const Error& why, int signal) {
  return cancelled(fmt::format("{}; the job could not be left to the next attempt ({})", eviction.what, why.message), signal);
}

Verdict followed_by_another(const Verdict* verdict) {
  const auto signal = verdict != nullptr ? verdict->signal : 0;
  auto why = verdict != nullptr ? verdict->message : "";
  if (why.empty() && signal != 0) why = result::signal_name(signal) + " received";
  const auto* between = why.empty() ? "" : "; ";
  return {VerdictClass::interrupted, fmt::format("{}{}another attempt of this step is following the job", why, between), std::nullopt, false, signal};
}

Verdict cancelled(std::string what, int signal) { return {VerdictClass::cancelled, std::move(what), std::nullopt, false, signal}; }

Verdict lost_sight(const JobRules& rules, const Error& why) {
  return {VerdictClass::system, fmt::format("can no longer follow {}; leaving it unchanged: {}", rules.job, why.message), std::nullopt, true, 0};
}

bool is_hurried(const Verdict& verdict) { return verdict.verdict_class == VerdictClass::cancelled || verdict.signal != 0; }

}  // namespace trainstep::follow
