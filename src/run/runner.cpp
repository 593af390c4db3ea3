// SPDX-License-Identifier: Apache-2.0
#include "run/runner.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::run {

Runner::Runner(Loop& loop, Backend& backend, std::vector<Listener*> listeners, std::unique_ptr<follow::RunState> machine)
    : m_loop(loop), m_backend(backend), m_listeners(std::move(listeners)), m_machine(std::move(machine)) {}

Runner::Runner(Loop& loop, Backend& backend, std::vector<Listener*> listeners, follow::Rules rules)
    : Runner(loop, backend, std::move(listeners), std::make_unique<follow::GangRunState>(std::move(rules))) {}

Runner::~Runner() = default;

void Runner::begin(std::function<void(Outcome)> done) {
  m_done = std::move(done);
  m_started = m_loop.now();
  for (auto* listener : m_listeners) listener->begins(*m_machine, m_started);
  perform(m_machine->begin(m_started));
  m_backend.on_unfinished([this](follow::MemberIndex member, std::string_view line) {
    if (!m_machine->shown(member)) return;
    for (auto* listener : m_listeners) listener->unfinished(m_loop.now(), m_machine->rules().members[member].name, line);
  });
  m_backend.prepare([this](const follow::Event& event) { handle(event); });
}

void Runner::request_stop(int signal) { handle({m_loop.now(), follow::StopRequested{signal}}); }

void Runner::post(decltype(follow::Event::what) what) { handle({m_loop.now(), std::move(what)}); }

void Runner::handle(const follow::Event& event) {
  for (auto* listener : m_listeners) listener->event(event);
  const auto actions = m_machine->handle(event);
  for (auto* listener : m_listeners) listener->decided(event, actions, m_machine->rules());
  perform(actions);
  for (auto* listener : m_listeners) listener->state(event.at, m_machine->timeline(), m_machine->metrics());
}

void Runner::perform(const std::vector<follow::Action>& actions) {
  for (const auto& action : actions) std::visit([this](const auto& order) { perform(order); }, action);
}

void Runner::perform(const follow::SetTimer& timer) {
  const int number = timer.timer;
  m_timers[number] = m_loop.timer(timer.delay, [this, number] {
    m_timers.erase(number);
    handle({m_loop.now(), follow::TimerFired{number}});
  });
}

void Runner::perform(const follow::ShowOutput& output) {
  for (auto* listener : m_listeners) listener->output(m_loop.now(), m_machine->rules().members[output.member].name, output.lines);
}

void Runner::perform(const follow::LogMessage& message) {
  for (auto* listener : m_listeners) message.warning ? listener->warn(m_loop.now(), message.text) : listener->info(m_loop.now(), message.text);
}

void Runner::perform(const follow::ShowProgress& progress) {
  for (auto* listener : m_listeners) listener->progress(m_loop.now(), progress.done, progress.of);
}

void Runner::perform(const follow::Finish& finish) {
  m_timers.clear();
  // Posted, because the backend's own call, which reports this, may not have finished.
  m_loop.post([this, verdict = finish.verdict]() mutable {
    auto outcome = outcome_of(std::move(verdict));
    m_done(std::move(outcome));
  });
}

Outcome Runner::outcome_of(result::Verdict verdict) const {
  Outcome outcome;
  outcome.verdict = std::move(verdict);
  if (outcome.verdict.verdict_class == result::VerdictClass::succeeded) {
    if (auto collected = m_backend.collect())
      outcome.outputs = std::move(*collected);
    else
      outcome.verdict = result::lost_outputs(collected.error());
  }
  outcome.started = m_started;
  outcome.ended = m_loop.now();
  outcome.timeline = m_machine->timeline();
  outcome.timeline.finish(outcome.ended);
  outcome.series = m_machine->metrics().series();
  for (std::size_t i = 0; i < m_machine->members().size(); ++i) {
    const auto& state = m_machine->members()[i];
    if (!m_machine->rules().members[i].started) continue;
    outcome.members.push_back(
        {m_machine->rules().members[i].name, state.ran_on, state.attempts, state.ending, state.stopping, state.started, state.ended});
  }
  return outcome;
}

}  // namespace trainstep::run
