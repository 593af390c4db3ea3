// SPDX-License-Identifier: Apache-2.0
#include "follow/attempt_metrics.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "base/text.h"
#include "result/metric_patterns.h"

namespace trainstep::follow {
namespace {

// For one attempt: the patterns that its lines matched are its own.
result::MetricReader reader_of(const Rules& rules) {
  return result::MetricReader(rules.metrics.empty() ? nullptr : std::make_shared<result::MetricPatterns>(rules.metrics));
}

}  // namespace

AttemptMetrics::AttemptMetrics(const Rules& rules) : m_rules(rules), m_rank_inside(rank_inside(rules)), m_metrics(reader_of(m_rules)) {}

void AttemptMetrics::begin(MemberIndex member, std::string_view attempt) {
  if (!m_rules.members[member].primary && !(m_rank_inside && m_rules.members[member].awaited)) return;
  m_metrics_dropped = m_metrics_dropped || !m_metrics_before.latest().empty();
  m_metrics_before_of = std::exchange(m_metrics_of, attempt);
  m_metrics_before = std::exchange(m_metrics, reader_of(m_rules));
}

AttemptMetrics::Resumed AttemptMetrics::resume() {
  if (m_metrics_before_of.empty()) return Resumed::unseen;
  m_metrics_of = std::exchange(m_metrics_before_of, {});
  m_metrics = std::exchange(m_metrics_before, {});
  return m_metrics_dropped && m_metrics.latest().empty() ? Resumed::doubtful : Resumed::well;
}

result::MetricReader* AttemptMetrics::reader_for(const MemberOutput& output) {
  if (m_rules.members[output.member].primary && (output.attempt.empty() || output.attempt == m_metrics_of)) return &m_metrics;
  return !output.attempt.empty() && output.attempt == m_metrics_before_of ? &m_metrics_before : nullptr;
}

std::vector<std::string> AttemptMetrics::unmatched() const {
  using Found = result::MetricPatterns::Found;
  std::vector<std::string> unmatched, no_numbers, told;
  const auto* patterns = m_metrics.patterns();
  for (std::size_t i = 0; patterns != nullptr && i < m_rules.metrics.size(); ++i) {
    const auto found = patterns->found(i);
    if (found != Found::number)
      (found == Found::nothing ? unmatched : no_numbers).push_back(fmt::format("job_options.metrics[{}] ({})", i, m_rules.metrics[i].name));
  }
  if (!unmatched.empty()) told.push_back(fmt::format("no line matched {}", join(unmatched, ", ")));
  if (!no_numbers.empty()) told.push_back(fmt::format("the value matched by {} is not a number", join(no_numbers, ", ")));
  return told;
}

}  // namespace trainstep::follow
