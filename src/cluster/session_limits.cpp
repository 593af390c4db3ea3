// Session: the limits that apply after the end of the job, while its outputs are downloaded.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/session.h"

namespace trainstep::cluster {

// Downloading them is a part of finishing.
void Session::limit_collecting() {
  const auto limit = [this](const std::string& option, const std::string& of, const std::optional<Duration>& time, Duration spent) {
    if (!time) return;
    m_timers.keep(m_loop.timer(std::max(*time - spent, Duration{}), [this, option, of, time = *time] {
      if (!m_collecting) return;
      m_data.reset();
      lose_outputs(
          {result::VerdictClass::timeout,
           fmt::format("the training succeeded; the limit of {} for {} (job_options.limits.{}) was exceeded while its outputs were being fetched",
                       trainstep::describe(time), of, option),
           std::nullopt, false, 0});
    }));
  };
  const auto& limits = m_plan->options.limits;
  limit("finishing", "finishing", limits.finishing, m_outcome.timeline.spent_in(result::Phase::finishing, m_loop.now()));
  limit("total", "the whole step", limits.total, std::chrono::duration_cast<Duration>(m_loop.now() - m_outcome.started));
}

void Session::lose_outputs(result::Verdict verdict) {
  m_outcome.verdict = std::move(verdict);
  for (auto& output : m_outcome.outputs)  // nothing was committed
    if (std::ranges::find(m_plan->data.downloads, output.name, &plan::StagedPath::name) != m_plan->data.downloads.end())
      if (output.pending.empty()) output.pending = output.path;
  deliver();
}

}  // namespace trainstep::cluster
