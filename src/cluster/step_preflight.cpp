// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_preflight.h"

#include <fmt/format.h>

#include "base/text.h"

namespace trainstep::cluster {
namespace {

// An API server that has just started knows no permissions yet.
constexpr Duration before_second_look{1'000};

}  // namespace

void StepPreflight::begin() {
  m_in_progress = true;
  if (m_context.plan.fresh_run) return ask(false);
  m_context.job.look(m_context.plan, [this](const JobSearch::Answer& found) {
    if (!m_in_progress) return;
    found && !*found ? ask(false) : pass();
  });
}

void StepPreflight::pass() {
  m_in_progress = false;
  m_sink.passed();
}

void StepPreflight::ask(bool again) {
  const auto& place = m_context.place;
  auto data = m_context.data;
  place.add_keys(data, m_context.plan);
  Preflight::Context of_preflight{m_context.transport, m_context.plan,
                                  m_context.facts,     place.facts(),
                                  std::move(data),     place.step_side(),
                                  place.job_side(),    [this](StepData::Context& context) { m_context.place.add_keys(context, m_context.plan); }};
  m_preflight = std::make_unique<Preflight>(std::move(of_preflight), Preflight::Sink{[](const Finding&) {},
                                                                                     [this, again](const Result<Diagnosis>& diagnosis) {
                                                                                       if (m_in_progress) asked(diagnosis, again);
                                                                                     }});
}

void StepPreflight::asked(const Result<Diagnosis>& diagnosis, bool again) {
  if (!diagnosis && m_context.has_others && diagnosis.error().kind != ErrorKind::unavailable) return refuse(diagnosis.error());
  if (!diagnosis || !diagnosis->failed()) return judge_wait(diagnosis ? trainstep::join(diagnosis->waits, "; ") : diagnosis.error().message);
  if (again) return refuse(*diagnosis);
  m_timer = m_context.loop.timer(before_second_look, [this] {
    if (m_in_progress) ask(true);
  });
}

void StepPreflight::judge_wait(const std::string& why) {
  if (why.empty() || !m_context.has_others) return pass();
  m_in_progress = false;
  m_sink.would_wait(why);
}

void StepPreflight::refuse(Error why) {
  m_in_progress = false;
  m_sink.refused(in_context(fmt::format("cluster_configuration_secret: {}", m_context.place.where()), std::move(why)));
}

void StepPreflight::refuse(const Diagnosis& diagnosis) {
  const auto& place = m_context.place;
  auto reasons = diagnosis.refusals;
  for (const bool of_step : {true, false}) {
    const auto rights = diagnosis.missing.of(of_step, true);
    const auto side = of_step ? place.step_side() : place.job_side();
    if (!rights.empty()) reasons.push_back(fmt::format("no permission to {} in namespace {} of {}", describe(rights), side.name_space, side.where));
  }
  const auto roles = diagnosis.missing.yaml(place.step_side(), place.job_side());
  for (const auto line : split(roles, '\n'))
    if (!line.empty()) m_context.log(std::string(line));
  refuse(input_error(trainstep::join(reasons, "; ")));
}

}  // namespace trainstep::cluster
