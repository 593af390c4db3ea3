// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/completion.h"
#include "cli/examples.h"
#include "cli/guide.h"
#include "cli/print.h"
#include "job_types/job_type.h"
#include "result/verdict.h"

namespace trainstep::cli {
namespace {

// Those between which --api-version chooses.
std::vector<std::string> api_versions() {
  std::set<std::string> versions;
  for (const auto& job_type : job_types::all())
    if (job_type.resources.size() > 1)
      for (const auto& resource : job_type.resources) versions.emplace(resource.group_version);
  return {versions.begin(), versions.end()};
}

std::vector<std::string> job_type_names() {
  std::vector<std::string> names;
  for (const auto& traits : job_types::traits()) names.emplace_back(traits.name);
  return names;
}

constexpr std::size_t help_column = 38;  // after --cluster-configuration-secret TEXT

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(help_column); }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    auto usage = CLI::Formatter::make_usage(app, std::move(name));
    if (runs_command(app->get_name())) usage.insert(usage.find_last_not_of('\n') + 1, " [-- COMMAND...]");
    return usage;
  }
};

std::string exit_codes_help() {
  std::string text = "\n\nExit codes:";
  for (const auto& [code, meaning] : exit_codes) text += fmt::format("\n  {:<{}}{}", code, help_column - 2, meaning);
  return text;
}

}  // namespace

void InterfaceFlags::add_to(CLI::App& app) {
  add(app, "executor-input", value::text, "KFP v2: the ExecutorInput ({{$}}); a JSON object here overrides all other flags", "Input sources");
  add(app, "files-in", value::folder, "for templates: @FILE reads only files below this folder; any other value is used as it is", "Input sources");
  add(app, "defaults-of", value::text, "for components: which default values apply; train-model-job: those of the component Train model job",
      "Input sources");
  for (const auto* fields : {&step::input_fields(), &step::output_fields()})
    for (const auto& field : *fields)
      add(app, step::flag_name(field), field.shape == step::Field::Shape::path ? value::path : value::text, std::string(field.help),
          fields == &step::input_fields() ? "Inputs" : "Outputs");
  add(app, "number-of-workers", "N", "short form of number_of_workers in distribution_specification", "Program", "-n,");
  add(app, "type", join(job_type_names(), "|"), "short form of distribution_type in distribution_specification", "Program");
  add(app, "run-id", value::text, "name of the run; default: derived from the workflow, else random", "Run");
  add(app, "namespace", value::text, "Kubernetes namespace of the job", "Run");
  app.allow_extras();  // what old backends leave of absent inputs, and unknown flags: step/ distinguishes them
}

step::Flags InterfaceFlags::given(const CLI::App& app) const {
  step::Flags flags;
  for (const auto& [name, value] : m_values)
    if (app.get_option("--" + name)->count() > 0) flags.push_back({name, *value});
  for (const auto& word : app.remaining()) {
    const auto equals = word.find('=');
    if (word.starts_with("--"))
      flags.push_back(
          {word.substr(2, equals == std::string::npos ? equals : equals - 2), equals == std::string::npos ? "" : word.substr(equals + 1)});
    else
      flags.push_back({"", word});
  }
  return flags;
}

void InterfaceFlags::add(CLI::App& app, const std::string& name, const std::string& kind, const std::string& help, const std::string& group,
                         const std::string& letter) {
  auto& place = m_values.emplace_back(name, std::make_unique<std::string>()).second;
  app.add_option(letter + "--" + name, *place, help)->group(group)->type_name(kind);
}

void Commands::add_jobs_flags(CLI::App& to) {
  to.add_option("--context", jobs.context, "kubeconfig context; default: the pod's own cluster, else the current context")->type_name(value::text);
  to.add_option("--namespace", jobs.name_space, "Kubernetes namespace; default: that of the pod or the context")->type_name(value::text);
  to.footer(std::string(jobs_examples));
}

void Commands::add_level(CLI::App& to) {
  to.add_option_function<std::string>(
        "--log-level", [this](const std::string& word) { choose_level(word); },
        "debug adds requests and decisions, warning omits the program's output; default: info")
      ->group("Run")
      ->type_name("debug|info|warning|error");
}

void Commands::choose_level(const std::string& word) {
  const auto wanted = log::level_of(word);
  if (!wanted) throw CLI::ValidationError("--log-level", fmt::format("unknown level \"{}\"; expected debug, info, warning or error", word));
  command.log_options.level = jobs.log_options.level = *wanted;
}

void Commands::add_format(CLI::App& to) {
  to.add_option_function<std::string>(
        "--log-format", [this](const std::string& word) { choose_format(word); }, "log format; default: text")
      ->group("Run")
      ->type_name("text|json");
}

void Commands::choose_format(const std::string& word) {
  const auto wanted = lower(word);
  if (wanted != "text" && wanted != "json")
    throw CLI::ValidationError("--log-format", fmt::format("unknown format \"{}\"; expected text or json", word));
  command.log_options.format = wanted == "json" ? log::Format::json : log::Format::text;
}

void Commands::add_exit_code_file(CLI::App& to) {
  to.add_option("--exit-code-file", command.exit_code_file,
                "write the exit code to this file, for callers that cannot wait; empty: still running, or killed")
      ->group("Run")
      ->type_name(value::file);
}

void Commands::add_exec_flags() {
  exec->add_option("--task", exec_command.task, "file with the task (JSON); default: the variable TRAINSTEP_TASK")->type_name(value::file);
  exec->add_option("--role", exec_command.role, "role of this replica; default: primary")->type_name("primary|replica|indexed|rank|launcher");
  exec->add_option("--scratch", exec_command.scratch, "folder in the pod that persists when a container restarts")->type_name(value::folder);
  exec->add_option("--install", exec_command.install, "copy this program to that path and exit")->type_name(value::path);
  exec->add_flag("--report", exec_command.report, "print the report of rank 0 of this pod and exit");
  exec->footer(std::string(exec_examples));
}

Commands::Commands() {
  app.set_version_flag("--version", "trainstep " TRAINSTEP_VERSION);
  const auto formatter = std::make_shared<HelpFormatter>();
  app.formatter(formatter);
  for (auto* one : app.get_subcommands({})) one->formatter(formatter);
  app.require_subcommand(1);
  app.footer(std::string(app_examples) + exit_codes_help());
  run_flags.add_to(*run);
  run->add_option("--cluster", command.cluster,
                  "where to train; local: processes on this machine. Default: kubernetes in a pod or with --context, else local")
      ->group("Run")
      ->type_name("local|kubernetes");
  run->add_option("--context", command.context, "kubernetes: kubeconfig context; default: the pod's own cluster, else the current context")
      ->group("Run")
      ->type_name(value::text);
  run->add_option("--python", command.python, "local: Python interpreter for programs that call python3")->group("Run")->type_name(value::file);
  run->add_option("--run-dir", command.run_dir, "local: folder of the run; default ./trainstep-runs/<job>")->group("Run")->type_name(value::folder);
  run->add_flag("--python-json", command.python_json,
                "write NaN and Infinity in --results and --metrics as Python's json does; they are not valid JSON")
      ->group("Run");
  run->add_option("--record", command.record, "write the run's events to this file, without secrets, for trainstep replay")
      ->group("Run")
      ->type_name(value::file);
  add_format(*run);
  add_level(*run);
  run->footer(std::string(run_examples));
  render_flags.add_to(*render);
  render->add_flag("--explain", command.explain, "annotate each value with the input that set it")->group("Render");
  render->add_option("--api-version", command.api_version, "API version, for kinds that have more than one")
      ->group("Render")
      ->type_name(join(api_versions(), "|"));
  render->footer(std::string(render_examples));
  check_flags.add_to(*check);
  check->add_option("--context", command.context, "kubeconfig context; default: the pod's own cluster, else the current context")
      ->group("Run")
      ->type_name(value::text);
  check->footer(std::string(check_examples));
  for (auto* command_of_jobs : {list, attach, logs, stop}) add_jobs_flags(*command_of_jobs);
  for (auto* followed : {run, list, attach, logs, stop}) add_exit_code_file(*followed);
  for (auto* of_one : {attach, logs, stop}) of_one->add_option("RUN", jobs.run, "run id, or the job's name")->required()->type_name("");
  add_level(*attach);
  attach->add_option("--metrics", jobs.metrics, "file for the metrics: a JSON object")->type_name(value::file);
  attach->add_option("--report", jobs.report, "file for the report: an HTML page")->type_name(value::file);
  logs->add_option("REPLICA", jobs.replica, "worker-1, ps-0, …; default: the primary replica")->type_name("");
  add_exec_flags();
  replay->add_option("FILE", record, "a file written by run --record")->required()->type_name("");
  add_format(*replay);
  add_level(*replay);
  replay->footer(std::string(replay_examples));
  completion->add_option("SHELL", shell, "shell to print the script for")->required()->type_name("bash|zsh|fish");
  completion->footer(std::string(completion_examples));
  man->footer(std::string(man_examples));
}

}  // namespace trainstep::cli
