// SPDX-License-Identifier: Apache-2.0
#include "cluster/early_stop.h"

#include <algorithm>
#include <utility>

namespace trainstep::cluster {
namespace {

// How long before SIGKILL unknown results are reported.
constexpr Duration time_for_verdict{1'000};

}  // namespace

EarlyStop::EarlyStop(Context context) : m_context(std::move(context)) {}

void EarlyStop::begin(Request request) {
  m_request = std::move(request);
  m_begun = true;
}

void EarlyStop::limit(bool half) {
  m_end.cancel();
  const auto signalled = m_context.signals.first();
  if (!signalled || !m_context.in_pod) return;
  const auto left = [&](Duration of_grace) {
    return std::max(Duration(0), std::chrono::duration_cast<Duration>(*signalled + of_grace - m_context.loop.now()));
  };
  const auto grace = m_context.facts.grace;
  m_end = m_context.loop.timer(left(grace - std::min(time_for_verdict, grace / 4)), [this] { m_context.too_late(); });
  if (half) m_half = m_context.loop.timer(left(grace / 2), [this] { m_context.do_without_pod(); });
}

void EarlyStop::ask_why(WorkflowMonitor& monitor, const std::function<void()>& done) {
  m_request.why_unknown = false;
  const auto left = std::chrono::duration_cast<Duration>(m_context.signals.killed_at(m_context.facts) - m_context.loop.now());
  m_hurry = m_context.loop.timer(std::max(Duration(0), left / 3), [&monitor] { monitor.hurry(); });
  monitor.ask_why([this, done](std::optional<WorkflowMonitor::Eviction> eviction) {
    m_hurry.cancel();
    m_request.eviction = std::move(eviction);
    done();
  });
}

result::Verdict EarlyStop::cancelled(std::string message) const {
  return {result::VerdictClass::cancelled, std::move(message), std::nullopt, false, m_request.signal};
}

}  // namespace trainstep::cluster
