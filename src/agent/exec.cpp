// SPDX-License-Identifier: Apache-2.0
#include "agent/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "agent/await.h"
#include "agent/checkpoints.h"
#include "agent/launcher.h"
#include "agent/outputs.h"
#include "agent/program.h"
#include "agent/record.h"
#include "agent/report.h"
#include "agent/turn.h"
#include "http/bulk_transport.h"
#include "process/descendants.h"
#include "process/signals.h"
#include "staging/staging.h"

namespace trainstep::agent {
namespace {

using result::PodReport;
using result::VerdictClass;

std::map<std::string, std::string> as_map(const process::Variables& variables) { return {variables.begin(), variables.end()}; }

class Agent {
 public:
  Agent(const plan::Task& task, const ExecOptions& options)
      : m_task(task),
        m_options(options),
        m_environment(process::own_environment()),
        m_primary(is_primary(options.role, m_environment)),
        m_transport(m_loop) {
    std::erase_if(m_environment, [](const auto& variable) { return variable.first == task_variable; });
  }

  PodReport work() {
    PodReport report;
    report.attempt = m_task.attempt;
    report.primary = m_primary;
    if (auto done = story(report); !done) {
      const auto verdict = result::from_error(done.error());
      report.verdict_class = verdict.verdict_class;
      report.exit_code = result::exit_code(verdict);
      report.message = done.error().message;
    }
    return report;
  }

 private:
  Result<void> story(PodReport& report) {
    ASSIGN(m_stores, staging::Stores::open(m_loop, m_transport, m_task.stores, as_map(m_environment), std::random_device{}()));
    if (!m_options.scratch.empty()) m_stores->ledger() = staging::Ledger(std::filesystem::path(m_options.scratch) / "staged");
    ASSIGN(auto finished, find_record(m_loop, *m_stores, m_task));
    if (finished) {
      tell("the training has finished in an earlier attempt, and its outputs are delivered: nothing is left to do");
      finished->primary = m_primary;
      report = std::move(*finished);
      return {};
    }
    if (m_primary && delivers()) TRY(probe(m_loop, *m_stores, m_task));
    ASSIGN(const auto before, prepare_outputs(m_task, m_primary));
    TRY(fetch(report));
    if (!m_options.argv.empty()) {
      ASSIGN(const auto end, run_with_checkpoints());
      report.exit_code = end.code;
      report.verdict_class = end.succeeded() ? VerdictClass::succeeded : VerdictClass::user;
      if (!end.succeeded()) return {};
    }
    report.verdict_class = VerdictClass::succeeded;
    if (m_primary) TRY(deliver(report, before));
    return {};
  }

  // Whoever wants to stop us while data come in has no program to stop.
  Result<void> fetch(PodReport& report) {
    if (m_task.inputs.empty()) return {};
    const Turn turn(m_options.scratch, to_text(plan::to_json(m_task)));  // of the ranks of one pod, one fetches
    if (turn.is_done()) return {};
    int received = 0;
    const process::Signals signals(m_loop, [&](int signal) {
      received = signal;
      m_loop.stop();
    });
    std::optional<staging::Fetching> fetching;
    auto staged = await<staging::Staged>(m_loop, [&](auto done) { fetching.emplace(*m_stores, m_task.inputs, staging::StagingSink{tell, done}); });
    if (!staged && received != 0) return Error{ErrorKind::cancelled, fmt::format("stopped by {} while data came in", result::signal_name(received))};
    if (!staged) return std::move(staged.error());
    tell(fmt::format("inputs: {}", describe(*staged)));
    report.bytes_in = staged->bytes;
    report.seconds_in = std::chrono::duration<double>(staged->took).count();
    return turn.done();
  }

  Result<ProgramEnd> run_with_checkpoints() {
    constexpr Duration last_look{60'000};
    if (m_task.checkpoints.path.empty()) return run_program(m_loop, m_options.argv, m_environment);
    TRY(in_context("checkpoints", restore_checkpoints(m_loop, *m_stores, m_task.checkpoints)));
    std::optional<CheckpointSync> sync;
    if (m_primary) sync.emplace(m_loop, *m_stores, m_task.checkpoints);
    ASSIGN(const auto end, run_program(m_loop, m_options.argv, m_environment));
    if (sync && !end.succeeded()) sync->finish(last_look);
    return end;
  }

  [[nodiscard]] bool delivers() const {
    return std::ranges::any_of(m_task.outputs, [](const auto& output) { return output.to.in_store(); });
  }

  Result<void> deliver(PodReport& report, const Footprints& before) {
    auto outputs = read_outputs(m_task, before);
    if (!outputs) {  // the program's doing
      report.verdict_class = VerdictClass::user;
      report.exit_code = 1;
      report.message = std::move(outputs.error().message);
      return {};
    }
    report.outputs = std::move(*outputs);
    std::vector<plan::TaskOutput> to_send;
    for (const auto& output : m_task.outputs)  // what is told to be absent does not go
      if (std::error_code none; output.to.in_store() && before.at(output.name).written() && std::filesystem::exists(output.path, none))
        to_send.push_back(output);
    if (!to_send.empty()) {
      std::optional<staging::Delivery> delivery;
      ASSIGN(const auto staged, await<staging::Staged>(m_loop, [&](auto done) {
               delivery.emplace(*m_stores, std::move(to_send), m_task.finishing_limit, staging::StagingSink{tell, done});
             }));
      tell(fmt::format("outputs: {}", describe(staged)));
      report.bytes_out = staged.bytes;
      report.seconds_out = std::chrono::duration<double>(staged.took).count();
    }
    return write_record(m_loop, *m_stores, m_task, report);
  }

  const plan::Task& m_task;
  const ExecOptions& m_options;
  process::Variables m_environment;
  bool m_primary;
  PollLoop m_loop;
  http::BulkTransport m_transport;
  std::unique_ptr<staging::Stores> m_stores;
};

// What tells the step: the pod's termination message, or, of a rank, a file that the launcher asks for.
void leave(const PodReport& report, const ExecOptions& options) {
  const bool rank = options.role == Role::rank;
  if (rank && !report.primary) return;
  if (rank)
    leave_report(report, options.scratch);
  else
    tell_kubelet(report, options.termination_log);
}

}  // namespace

int exec(const plan::Task& task, const ExecOptions& options) {
  process::become_subreaper();
  const auto report = options.role == Role::launcher ? launch(task, options) : Agent(task, options).work();
  if (!report.message.empty()) tell(report.message);
  leave(report, options);
  return report.exit_code;
}

}  // namespace trainstep::agent
