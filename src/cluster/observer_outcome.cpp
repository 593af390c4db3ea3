// SPDX-License-Identifier: Apache-2.0
#include "cluster/observer_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trainstep::cluster {
namespace {

// How often and how long a step's report on the end of its job is waited for.
constexpr int max_polls = 120;
constexpr Duration result_interval{1'000};

}  // namespace

ObserverOutcome::ObserverOutcome(Context context, std::function<void(run::Outcome)> done) : m_context(std::move(context)), m_done(std::move(done)) {}

void ObserverOutcome::begin(run::Outcome outcome) {
  m_outcome = std::move(outcome);
  take_curves();
  await_reported_outcome(m_context.in_workflow ? max_polls : 0);
}

// There are no outputs: takes what the log does not contain.
void ObserverOutcome::take_curves() {
  const auto* told = m_context.backend.report();
  if (told == nullptr) return;
  for (const auto& output : told->outputs)
    for (const auto& curve : output.curves)
      if (std::ranges::find(m_outcome.series, curve.name, &result::MetricSeries::name) == m_outcome.series.end()) m_outcome.series.push_back(curve);
}

void ObserverOutcome::await_reported_outcome(int looks) {
  using enum result::VerdictClass;
  auto& verdict = m_outcome.verdict;
  const auto told = m_context.backend.reported_class();
  if (!told && verdict.verdict_class == succeeded && !m_context.backend.gone() && looks > 0) {
    if (looks == max_polls - 2) m_context.log("the job has succeeded; waiting for its step to report the outputs");
    if (looks == 1) m_context.log("its step has not reported an outcome; showing the job's own");
    m_timer = m_context.loop.timer(result_interval, [this, looks] { await_reported_outcome(looks - 1); });
    return;
  }
  if (told && *told != verdict.verdict_class && verdict.verdict_class != interrupted) {
    auto itself = verdict;  // without what is said of the whole
    itself.retry_can_help = false;
    itself.first_failure.reset();
    verdict.message = fmt::format("its step reported this outcome; the job itself {}", result::describe(itself));
    verdict.verdict_class = *told;
  }
  m_done(std::move(m_outcome));
}

}  // namespace trainstep::cluster
