// SPDX-License-Identifier: Apache-2.0
#include "cluster/stop_signals.h"

#include <csignal>

namespace trainstep::cluster {
namespace {

// The most that KFP's launcher leaves (docs/design/kfp.md, Signals).
constexpr Duration launchers_grace{1'000};

}  // namespace

bool StopSignals::receive(int signal) {
  if (!m_first) m_first = m_loop.now();
  return ++m_count > 1 && (!m_in_pod || signal == SIGINT);
}

Time StopSignals::killed_at(const Facts& facts) const { return m_first.value_or(m_loop.now()) + (facts.launcher ? launchers_grace : facts.grace); }

}  // namespace trainstep::cluster
