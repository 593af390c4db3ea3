// SPDX-License-Identifier: Apache-2.0
#include "follow/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "follow/triage.h"

namespace trainstep::follow {
namespace {

bool wanted(const Rules& rules, const Member& member, bool rank_inside) {
  return std::any_of(rules.logs.begin(), rules.logs.end(), [&](const auto& name) {
    return name == "all" || name == member.name || (name == "primary" && (member.primary || (member.awaited && rank_inside)));
  });
}

// For one attempt: the patterns that its lines matched are its own.
result::MetricReader reader_of(const Rules& rules) {
  return result::MetricReader(rules.metrics.empty() ? nullptr : std::make_shared<result::MetricPatterns>(rules.metrics));
}

}  // namespace

RunState::RunState(Rules rules)
    : m_rules(std::move(rules)),
      m_members(m_rules.members.size()),
      m_rank_inside(std::ranges::any_of(m_rules.members, [](const Member& member) { return member.primary && !member.started; })),
      m_metrics(reader_of(m_rules)) {
  for (const auto& member : m_rules.members) m_shown.push_back(wanted(m_rules, member, m_rank_inside));
}

void RunState::begin_metrics(MemberIndex member, std::string_view attempt) {
  if (!m_rules.members[member].primary && !(m_rank_inside && m_rules.members[member].awaited)) return;
  m_metrics_dropped = m_metrics_dropped || !m_metrics_before.latest().empty();
  m_metrics_before_of = std::exchange(m_metrics_of, attempt);
  m_metrics_before = std::exchange(m_metrics, reader_of(m_rules));
}

RunState::Resumed RunState::resume_metrics() {
  if (m_metrics_before_of.empty()) return Resumed::unseen;
  m_metrics_of = std::exchange(m_metrics_before_of, {});
  m_metrics = std::exchange(m_metrics_before, {});
  return m_metrics_dropped && m_metrics.latest().empty() ? Resumed::doubtful : Resumed::well;
}

void RunState::warn_of_unmatched() {
  using Found = result::MetricPatterns::Found;
  std::vector<std::string> unmatched, no_numbers;
  const auto* patterns = m_metrics.patterns();
  for (std::size_t i = 0; patterns != nullptr && i < m_rules.metrics.size(); ++i) {
    const auto found = patterns->found(i);
    if (found != Found::number)
      (found == Found::nothing ? unmatched : no_numbers).push_back(fmt::format("job_options.metrics[{}] ({})", i, m_rules.metrics[i].name));
  }
  if (!unmatched.empty()) warn(fmt::format("no line matched {}", join(unmatched, ", ")));
  if (!no_numbers.empty()) warn(fmt::format("the value matched by {} is not a number", join(no_numbers, ", ")));
}

void RunState::take_output(const MemberOutput& output, Time at, result::Tail& tail) {
  m_last_sign_of_life = at;
  if (m_shown[output.member]) m_actions.emplace_back(ShowOutput{output.member, output.lines});
  const bool primary = m_rules.members[output.member].primary && (output.attempt.empty() || output.attempt == m_metrics_of);
  const bool before = !primary && !output.attempt.empty() && output.attempt == m_metrics_before_of;
  for_each_line(output.lines, [&](std::string_view line, bool near_end) {
    if (primary) m_metrics.feed(line, at);
    if (before) m_metrics_before.feed(line, at);
    if (near_end) tail.push(line);
  });
  if (primary && m_metrics.full() && !std::exchange(m_told_full, true))
    warn("the program's log has more than 2000 metrics: ignoring further names; write them to a metrics output");
  if (primary && !m_told_nul && output.lines.find('\0') != std::string_view::npos) {
    m_told_nul = true;
    warn("the program's log contains NUL characters, as UTF-16 does: metrics are read from UTF-8 only");
  }
  if (!primary || m_progress == m_metrics.progress()) return;
  m_progress = m_metrics.progress();
  if (m_progress.epoch && m_progress.epochs)
    m_actions.emplace_back(ShowProgress{static_cast<int>(*m_progress.epoch), static_cast<int>(*m_progress.epochs)});
}

}  // namespace trainstep::follow
