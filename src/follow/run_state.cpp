// SPDX-License-Identifier: Apache-2.0
#include "follow/run_state.h"

#include <algorithm>
#include <utility>

#include "follow/triage.h"

namespace trainstep::follow {
namespace {

bool wanted(const Rules& rules, const Member& member, bool inside) {
  return std::any_of(rules.logs.begin(), rules.logs.end(), [&](const auto& name) {
    return name == "all" || name == member.name || (name == "primary" && (member.primary || (member.awaited && inside)));
  });
}

}  // namespace

RunState::RunState(Rules rules) : m_rules(std::move(rules)), m_members(m_rules.members.size()), m_metrics(m_rules) {
  const bool inside = rank_inside(m_rules);
  for (const auto& member : m_rules.members) m_shown.push_back(wanted(m_rules, member, inside));
}

void RunState::warn_of_unmatched() {
  for (auto& told : m_metrics.unmatched()) warn(std::move(told));
}

void RunState::take_output(const MemberOutput& output, Time at, result::Tail& tail) {
  m_last_sign_of_life = at;
  if (m_shown[output.member]) m_actions.add(ShowOutput{output.member, output.lines});
  auto* reader = m_metrics.reader_for(output);
  for_each_line(output.lines, [&](std::string_view line, bool near_end) {
    if (reader != nullptr) reader->feed(line, at);
    if (near_end) tail.push(line);
  });
  const auto& counted = m_metrics.counted();
  const bool counts = reader == &counted;
  if (counts && counted.full() && !std::exchange(m_told_full, true))
    warn("the program's log has more than 2000 metrics: ignoring further names; write them to a metrics output");
  if (counts && !m_told_nul && output.lines.find('\0') != std::string_view::npos) {
    m_told_nul = true;
    warn("the program's log contains NUL characters, as UTF-16 does: metrics are read from UTF-8 only");
  }
  if (!counts || m_progress == counted.progress()) return;
  m_progress = counted.progress();
  if (m_progress.epoch && m_progress.epochs) m_actions.add(ShowProgress{static_cast<int>(*m_progress.epoch), static_cast<int>(*m_progress.epochs)});
}

}  // namespace trainstep::follow
