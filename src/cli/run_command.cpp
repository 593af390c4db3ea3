// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "base/poll_loop.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/step_command.h"
#include "kinds/kind.h"
#include "local/backend.h"
#include "local/gang.h"
#include "process/guard.h"
#include "process/signals.h"
#include "run/runner.h"
#include "step/outputs.h"
#include "step/report.h"
#include "step/results.h"
#include "step/targets.h"

namespace trainstep::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view usual_run_dir = "trainstep-runs";
// How long the gang may take to end when the guard was killed: whoever does that wants an end.
constexpr Duration orphaned_grace{5'000};

// A pod or a pipeline never gets local processes by itself: the user would believe that the cluster trains.
Result<void> check_cluster(const StepCommand& command, const step::Inputs& inputs) {
  if (command.cluster == "local") return {};
  if (!command.cluster.empty())
    return usage_error(
        fmt::format("--cluster: \"{}\" is not known; this version runs trainings as processes of this machine: --cluster local", command.cluster));
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr || inputs.from_executor_input)
    return usage_error(
        "this is a step of a pipeline or a pod, and where to train is not said; --cluster local trains as processes right here (render prints the "
        "manifest for a cluster)");
  return {};
}

follow::Rules rules_of(const plan::Plan& plan) {
  follow::Rules rules;
  for (const auto& member : local::gang(plan))
    rules.members.push_back({member.name, member.primary, member.awaited, member.serves, !member.output_only});
  rules.policy = plan.options.run_policy;
  rules.limits = plan.options.limits;
  if (plan.options.run_policy.active_deadline && !rules.limits.running) rules.limits.running = plan.options.run_policy.active_deadline;
  if (!plan.options.logs.empty()) rules.logs = plan.options.logs;
  if (rules.logs != std::vector<std::string>{"none"}) rules.logs.emplace_back("setup");  // warnings, and what is installed
  return rules;
}

std::string opening(const plan::Plan& plan, const std::string& run_dir) {
  std::vector<std::string> counts;
  for (const auto& replicas : kinds::find(plan.kind).replicas(plan)) counts.push_back(fmt::format("{} {}", replicas.count, replicas.type));
  return fmt::format("version {} · {} on this machine: {} · run {} in {}", TRAINSTEP_VERSION, plan.kind, join(counts, ", "), plan.run_id, run_dir);
}

std::string target_path(const step::Inputs& inputs, std::string_view name) {
  for (const auto& target : inputs.targets)
    if (target.name == name) return target.path;
  return {};
}

fs::path run_folder(const StepCommand& command, const plan::Plan& plan) {
  return command.run_dir.empty() ? fs::path(usual_run_dir) / plan.job_name : fs::path(command.run_dir);
}

// Where the run and its outputs are to lie, before hours are spent on them.
Result<void> check_places(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan) {
  std::error_code code;
  static_cast<void>(fs::current_path(code));
  if (code) return input_error("the working directory does not exist any more; start in another one");
  TRY(step::check_folder("run-dir", run_folder(command, plan).string()));
  return step::check_targets(inputs.targets);
}

// One step with local processes, from a finished plan to its exit code.
class LocalRun {
 public:
  LocalRun(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan)
      : m_inputs(inputs),
        m_plan(plan),
        m_run_dir(run_folder(command, plan)),
        m_console(m_loop, STDOUT_FILENO, command.log_format),
        m_backend(m_loop, plan, local_options(command)),
        m_runner(m_loop, m_backend, listeners(), rules_of(plan)) {}

  int operator()(int guard_fd) {
    const process::Signals signals(m_loop, [this](int signal) { m_runner.request_stop(signal); });
    if (guard_fd >= 0) {
      m_loop.on_readable(guard_fd, [this, guard_fd] {  // the guard was killed: nobody but us ends the gang
        m_loop.forget(guard_fd);
        m_runner.request_stop(SIGTERM);
        m_loop.after(orphaned_grace, [this] { m_runner.request_stop(SIGINT); });  // the second one ends the grace
      });
    }
    m_console.say(m_loop.now(), opening(m_plan, m_run_dir.string()));
    int code = 0;
    m_runner.begin([&](run::Outcome outcome) {
      code = hand_over(std::move(outcome));
      m_loop.stop();
    });
    m_loop.run();
    return code;
  }

 private:
  [[nodiscard]] local::LocalOptions local_options(const StepCommand& command) const {
    local::LocalOptions options;
    options.run_dir = fs::absolute(m_run_dir);
    options.python = command.python;
    return options;
  }

  std::vector<run::Listener*> listeners() {
    std::vector<run::Listener*> all{&m_console};
    if (const auto* path = std::getenv("ARGO_PROGRESS_FILE"); path != nullptr && *path != '\0') {
      m_progress_file = std::make_unique<ProgressFile>(path);
      all.push_back(m_progress_file.get());
    }
    return all;
  }

  int hand_over(run::Outcome outcome) {
    const step::FileReader reader = [](const std::string& path, std::size_t limit) { return read_file(path, limit); };
    step::Story story{
        m_inputs, outcome, &m_plan, kinds::find(m_plan.kind).replicas(m_plan), step::final_metrics(outcome, reader), target_path(m_inputs, "report")};
    if (auto written = step::write_outputs(story, reader); !written) {
      if (story.succeeded()) outcome.verdict = result::lost_outputs(written.error());
      if (written.error().kind != ErrorKind::input) story.report_place.clear();  // it could not be written either
    }
    for (const auto& line : step::summary(story)) m_console.say(m_loop.now(), line);
    m_console.finish();
    return result::exit_code(outcome.verdict);
  }

  const step::Inputs& m_inputs;
  const plan::Plan& m_plan;
  fs::path m_run_dir;
  PollLoop m_loop;
  Console m_console;
  std::unique_ptr<ProgressFile> m_progress_file;
  local::LocalBackend m_backend;
  run::Runner m_runner;
};

}  // namespace

int run_run(const StepCommand& command) {
  const auto inputs = read_inputs(command);
  if (!inputs) return report(inputs.error());
  if (auto checked = check_cluster(command, *inputs); !checked) return report(checked.error());
  const auto plan = plan::make_plan(inputs->request, kinds::names());
  if (!plan) return report(plan.error());
  if (auto checked = kinds::check_options(*plan); !checked) return report(checked.error());
  if (auto checked = local::check_gang(*plan); !checked) return report(checked.error());
  if (auto checked = check_places(command, *inputs, *plan); !checked) return report(checked.error());
  return process::run_guarded([&](int guard_fd) { return LocalRun(command, *inputs, *plan)(guard_fd); });
}

}  // namespace trainstep::cli
