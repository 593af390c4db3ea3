// SPDX-License-Identifier: Apache-2.0
#include "follow/operator_watch.h"

#include <algorithm>
#include <utility>

#include "follow/given_up.h"
#include "follow/job_timers.h"

namespace trainstep::follow {
namespace {

constexpr Duration unheeded_is_told{120'000};

}  // namespace

void OperatorWatch::start() {
  m_told = !m_rules.is_observer && m_rules.operator_absent <= unheeded_is_told;  // it is final before
  m_actions.start_timer(JobTimer::operator_absent, std::min(m_rules.operator_absent, unheeded_is_told));
}

bool OperatorWatch::is_absent() {
  if (std::exchange(m_told, true)) return !m_rules.is_observer;
  m_actions.warn(no_operator_yet(m_rules, unheeded_is_told));
  m_actions.start_timer(JobTimer::operator_absent, m_rules.operator_absent - unheeded_is_told);
  return false;
}

}  // namespace trainstep::follow
