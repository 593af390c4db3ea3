// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/poll_loop.h"
#include "base/write.h"
#include "cli/app.h"
#include "cli/cluster_only.h"
#include "cli/finish_step.h"
#include "cli/run_command.h"
#include "cli/step_command.h"
#include "cli/termination_log.h"
#include "job_types/job_type.h"
#include "local/backend.h"
#include "local/gang.h"
#include "local/pending_outputs.h"
#include "local/place.h"
#include "local/run_folder.h"
#include "local/scratch.h"
#include "log/back_pressure.h"
#include "process/guard.h"
#include "process/limits.h"
#include "process/signals.h"
#include "run/runner.h"
#include "step/held_folders.h"
#include "step/sources.h"
#include "step/targets.h"
#include "step/unused_inputs.h"

namespace trainstep::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view usual_run_dir = "trainstep-runs";
// The guard ends by no other signal. A run whose guard was killed is cancelled …
constexpr int guards_end = SIGKILL;
constexpr Duration orphaned_grace{5'000};  // … and its gang may take this long to end
constexpr Duration guard_timeout{1'000};   // of the guard, for a reader of stderr

follow::Rules rules_of(const plan::Plan& plan) {
  follow::Rules rules;
  for (const auto& member : local::gang(plan))
    rules.members.push_back({member.name, member.primary, member.awaited, member.serves, !member.output_only});
  follow::take_options(rules, plan.options);
  if (!plan.options.logs.empty()) rules.logs = plan.options.logs;
  if (rules.logs != std::vector<std::string>{"none"}) rules.logs.emplace_back("setup");  // warnings and installations
  return rules;
}

std::string opening(const plan::Plan& plan, const std::string& run_dir) {
  return fmt::format("version {} · {} on this machine: {} · run {} in {}", TRAINSTEP_VERSION, plan.job_type, job_types::replica_counts(plan),
                     plan.run_id, run_dir);
}

fs::path run_folder(const StepCommand& command, const plan::Plan& plan) {
  return command.run_dir.empty() ? fs::path(usual_run_dir) / plan.job_name : fs::path(command.run_dir);
}

// Checks where the run and its outputs will be, before hours are spent on them.
Result<void> check_places(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan) {
  std::error_code code;
  static_cast<void>(fs::current_path(code));
  if (code) return input_error("the working directory no longer exists; change to another one");
  TRY(step::check_sources(inputs.request.inputs));
  TRY(step::check_parameters(inputs, plan));
  TRY(local::check_path_texts(plan, run_folder(command, plan)));
  TRY(step::check_folder("run-dir", run_folder(command, plan).string()));
  TRY(local::RunFolder::check(run_folder(command, plan)));
  TRY(step::check_model_place(inputs, {{"run-dir", run_folder(command, plan).string()}}));
  ASSIGN(const auto emptied, local::emptied_places(plan, run_folder(command, plan)));
  TRY(step::check_not_emptied(inputs, emptied, command.flags));
  TRY(step::check_outputs(inputs, command.record, command.exit_code_file, command.flags));
  ASSIGN(const auto own, local::own_places(plan, run_folder(command, plan)));
  return step::check_not_of_run(inputs, command.record, command.exit_code_file, own);
}

// Raises the limit before the gang starts; in the middle it would be too late.
Result<void> allow_gang_files(const plan::Plan& plan) {
  const auto needed = local::open_files(plan);
  const auto allowed = process::allow_open_files(needed.best);
  if (allowed >= needed.least) return {};
  return input_error(
      fmt::format("distribution_specification.number_of_workers: this many processes require {} open files, the limit is {}; raise it (ulimit -Hn), "
                  "or use fewer workers",
                  needed.least, allowed));
}

std::string that_stay(const Error& why) { return fmt::format("temporary files of the run are kept: {}", why.message); }

// In the guard: no other process is left to report.
void remove_after_kill(const fs::path& scratch) {
  const auto gone = local::remove_scratch(scratch);
  if (gone) return;
  std::signal(SIGPIPE, SIG_IGN);
  write_within(STDERR_FILENO, that_stay(gone.error()) + "\n", guard_timeout);
}

// What the loop has not noticed yet: a stop, or that the guard was killed. Returns a signal, or 0.
int stopped_meanwhile(int guard_fd) {
  sigset_t pending{};
  ::sigpending(&pending);
  const auto stops = process::stop_signals();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP})
    if (sigismember(&pending, signal) == 1 && sigismember(&stops, signal) == 1) return signal;
  pollfd guard{guard_fd, POLLIN, 0};
  return guard_fd >= 0 && ::poll(&guard, 1, 0) > 0 ? guards_end : 0;
}

// A step with local processes, from the plan to its exit code.
class LocalRun {
 public:
  LocalRun(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan, std::unique_ptr<Recorder> recorder, fs::path scratch)
      : m_inputs(inputs),
        m_folders(inputs),
        m_plan(plan),
        m_run_dir(run_folder(command, plan)),
        m_listeners(m_loop, command.log_options, std::move(recorder)),
        m_pipeline{nullptr, command.termination_log},
        m_backend(m_loop, plan, local_options(command, std::move(scratch))),
        m_runner(m_loop, m_backend, m_listeners.all(), rules_of(plan)),
        m_reader(m_loop, m_listeners.own_log(), [this](Pressure pressure) { m_backend.hold_output(pressure); }) {}

  int operator()(int guard_fd) {
    const process::Signals signals(m_loop, [this](int signal) { stop(signal); });
    m_pipeline.folders = &m_folders;
    m_pipeline.commit = [this, guard_fd] { return commit(guard_fd); };
    if (guard_fd >= 0) {
      m_loop.on_readable(guard_fd, [this, guard_fd] {  // the guard was killed: only we can end the gang
        m_loop.forget(guard_fd);
        stop(guards_end);
        m_loop.after(orphaned_grace, [this] { stop(SIGINT); });  // the second one ends the grace
      });
    }
    m_listeners.console().info(m_loop.now(), opening(m_plan, m_run_dir.string()));
    if (const auto notice = step::unbound_model(m_inputs, m_plan)) m_listeners.console().warn(m_loop.now(), *notice);
    for (const auto& notice : step::unused_inputs(m_inputs.request, m_plan)) m_listeners.console().warn(m_loop.now(), notice);
    if (const auto notice = without_effect_here(m_inputs.request)) m_listeners.console().warn(m_loop.now(), *notice);
    int code = 0;
    m_runner.begin([&](run::Outcome outcome) {
      finish_step(m_loop, m_listeners, m_inputs, &m_plan, outcome, m_pipeline, [this, &code, &outcome] {
        if (outcome.verdict.verdict_class != result::VerdictClass::succeeded)
          for (const auto& line : m_backend.left_behind()) m_listeners.console().warn(m_loop.now(), line);
        if (const auto gone = m_backend.remove_temporary(); !gone) m_listeners.console().warn(m_loop.now(), that_stay(gone.error()));
        m_listeners.console().finish();
        code = result::exit_code(outcome.verdict);
        m_over = true;
        m_reader.finish(reader_timeout(outcome.verdict), [this] { m_loop.stop(); });
      });
    });
    m_loop.run();
    return code;
  }

 private:
  [[nodiscard]] local::LocalOptions local_options(const StepCommand& command, fs::path scratch) const {
    local::LocalOptions options;
    options.run_dir = fs::absolute(m_run_dir);
    options.python = command.python;
    if (command.program) options.folder = fs::current_path();
    options.scratch = std::move(scratch);
    return options;
  }

  Result<std::vector<std::string>> commit(int guard_fd) {
    m_backend.ask_before_delivery([this, guard_fd] { return go_on(guard_fd); });
    TRY(go_on(guard_fd));
    return m_backend.commit();
  }

  Result<void> go_on(int guard_fd) {
    m_pipeline.stopped = m_signal != 0 ? m_signal : stopped_meanwhile(guard_fd);
    if (m_pipeline.stopped == 0) return {};
    const auto said = result::describe_stop(m_pipeline.stopped) + ": the training's outputs are not delivered";
    m_listeners.console().info(m_loop.now(), said);
    return Error{ErrorKind::cancelled, said};
  }

  void stop(int signal) {
    if (m_over) return m_reader.hurry();
    m_signal = signal;
    m_runner.request_stop(signal);
  }

  const step::Inputs& m_inputs;
  step::HeldFolders m_folders;
  const plan::Plan& m_plan;
  fs::path m_run_dir;
  PollLoop m_loop;
  Listeners m_listeners;
  ToPipeline m_pipeline;
  local::LocalBackend m_backend;
  run::Runner m_runner;
  log::BackPressure m_reader;
  int m_signal = 0;     // the latest that asked for a stop, which came too late for m_runner if it is to commit
  bool m_over = false;  // only the rest has to be read
};

}  // namespace

int run_locally(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan) {
  if (auto checked = job_types::check_options(plan); !checked) return fail(command, checked.error());
  if (auto checked = local::check_gang(plan); !checked) return fail(command, checked.error());
  if (auto checked = check_places(command, inputs, plan); !checked) return fail(command, checked.error());
  if (auto allowed = allow_gang_files(plan); !allowed) return fail(command, allowed.error());
  auto recorder = recorder_for(command, inputs);
  if (!recorder) return fail(command, recorder.error());
  const auto scratch = local::scratch_path(process::own_environment());
  const auto program = [&](int guard_fd) {
    const auto made = local::make_scratch(process::own_environment(), scratch);
    if (!made) return fail(command, made.error());
    try {
      return LocalRun(command, inputs, plan, std::move(*recorder), *made)(guard_fd);
    } catch (...) {  // for example: no thread can be created
      static_cast<void>(local::remove_scratch(*made));
      throw;
    }
  };
  return process::run_guarded(program, [&command, &plan, &scratch] {
    remove_after_kill(scratch);
    write_termination_log(command.termination_log, "trainstep was killed; its processes have been stopped");
    for (const auto& line : local::tidy_outputs(plan)) write_within(STDERR_FILENO, line + "\n", guard_timeout);
  });
}

}  // namespace trainstep::cli
