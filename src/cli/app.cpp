// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>

#include "base/printable.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/write.h"
#include "cli/completion.h"
#include "cli/examples.h"
#include "cli/exec_command.h"
#include "cli/exit_code_file.h"
#include "cli/internal_error.h"
#include "cli/jobs_command.h"
#include "cli/manual.h"
#include "cli/print.h"
#include "cli/replay_command.h"
#include "cli/step_command.h"
#include "cli/termination_log.h"
#include "process/signals.h"
#include "result/verdict.h"

namespace trainstep::cli {
namespace {

constexpr Duration last_patience{5'000};
bool errors_are_json = false;            // set once, before anything is said
std::vector<std::string> secrets;        // conceal()
constexpr std::size_t help_column = 38;  // behind --cluster-configuration-secret TEXT

// The flags of the interface, as CLI11 fills them in. Absent and empty are different things until step/ has seen them.
class InterfaceFlags {
 public:
  void add_to(CLI::App& app) {
    add(app, "executor-input", value::text, "KFP v2: the ExecutorInput ({{$}}); a JSON object here wins over all other flags", "Ways in");
    add(app, "files-in", value::folder, "for templates: only files below this folder are read for @FILE, every other value is itself", "Ways in");
    for (const auto* fields : {&step::input_fields(), &step::output_fields()})
      for (const auto& field : *fields)
        add(app, step::flag_name(field), field.shape == step::Field::Shape::path ? value::path : value::text, std::string(field.help),
            fields == &step::input_fields() ? "Inputs" : "Outputs");
    add(app, "run-id", value::text, "name of the run; by default it follows from the workflow, else it is random", "Run");
    add(app, "namespace", value::text, "Kubernetes namespace of the job", "Run");
    app.allow_extras();  // what old backends leave of absent inputs, and flags that do not exist: step/ tells them apart
  }

  [[nodiscard]] step::Flags given(const CLI::App& app) const {
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

 private:
  void add(CLI::App& app, const std::string& name, const char* kind, const std::string& help, const std::string& group) {
    auto& place = m_values.emplace_back(name, std::make_unique<std::string>()).second;
    app.add_option("--" + name, *place, help)->group(group)->type_name(kind);
  }
  std::vector<std::pair<std::string, std::unique_ptr<std::string>>> m_values;
};

// Flags may be spelled with underscores, as the inputs are in a pipeline; CLI11 knows one spelling.
std::vector<std::string> with_dashes(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 wants them backwards
    std::string word = argv[i];
    if (word.starts_with("--"))
      std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size())), '_', '-');
    words.push_back(std::move(word));
  }
  return words;
}

std::string exit_codes_help() {
  std::string text = "\n\nExit codes:";
  for (const auto& [code, meaning] : exit_codes) text += fmt::format("\n  {:<{}}{}", code, help_column - 2, meaning);
  return text;
}

struct Commands {
  StepCommand command;
  InterfaceFlags run_flags, render_flags, check_flags;
  CLI::App app{
      "trainstep – the training step of a pipeline.\n"
      "Runs a training program, distributed as you say, and succeeds if and only if the training did.",
      "trainstep"};
  CLI::App* run = app.add_subcommand("run", "Train: start the job, follow it to its end, hand back model, metrics and report.");
  CLI::App* render = app.add_subcommand("render", "Print the Kubernetes manifest of the job as YAML; nothing is started.");

  CLI::App* check = app.add_subcommand("check", "Ask the cluster whether this step could do what it will have to; nothing is made.");

  CLI::App* list = app.add_subcommand("list", "List the jobs that steps have made in a namespace.");
  CLI::App* attach =
      app.add_subcommand("attach", "Follow a run that was started earlier to its end and collect its metrics and report; the exit code is its.");
  CLI::App* logs = app.add_subcommand("logs", "Print the log of a run's replica, to its end.");
  CLI::App* stop = app.add_subcommand("stop", "Delete a run's job, and wait until its pods are gone.");
  JobsCommand jobs;
  CLI::App* exec = app.add_subcommand("exec", "The agent in a training pod: fetch the inputs, run the program behind --, deliver its outputs.");
  ExecCommand exec_command;
  CLI::App* replay = app.add_subcommand("replay", "Tell the story of a recorded run again, offline; the exit code is that run's.");
  std::string record;
  std::string exit_code_file;  // run_app() has read it before
  CLI::App* completion = app.add_subcommand("completion", "Print the script that completes commands, flags and values in a shell.");
  std::string shell;
  std::vector<std::string> words;  // behind --: what a shell's script asks for
  CLI::App* man = app.add_subcommand("man", "Print the manual page.");

  void add_jobs_flags(CLI::App& to) {
    to.add_option("--context", jobs.context, "a context of the kubeconfig; default: the pod's own cluster, else the current context")
        ->type_name(value::text);
    to.add_option("--namespace", jobs.name_space, "default: that of the pod or the context")->type_name(value::text);
    to.footer(std::string(jobs_examples));
  }

  void add_level(CLI::App& to) {
    to.add_option_function<std::string>(
          "--log-level", [this](const std::string& word) { choose_level(word); },
          "debug adds requests and decisions, warning leaves out the program's output; default: info")
        ->group("Run")
        ->type_name("debug|info|warning|error");
  }

  void choose_level(const std::string& word) {
    const auto wanted = log::level_of(word);
    if (!wanted) throw CLI::ValidationError("--log-level", fmt::format("\"{}\" is not known; write debug, info, warning or error", word));
    command.log_options.level = jobs.log_options.level = *wanted;
  }

  void add_format(CLI::App& to) {
    to.add_option_function<std::string>(
          "--log-format", [this](const std::string& word) { choose_format(word); }, "how the log is written; default: text")
        ->group("Run")
        ->type_name("text|json");
  }

  void choose_format(const std::string& word) {
    const auto wanted = lower(word);
    if (wanted != "text" && wanted != "json")
      throw CLI::ValidationError("--log-format", fmt::format("\"{}\" is not known; write text or json", word));
    command.log_options.format = wanted == "json" ? log::Format::json : log::Format::text;
  }

  void add_exit_code_file(CLI::App& to) {
    to.add_option("--exit-code-file", exit_code_file, "a file for the exit code, for callers that cannot wait; empty: killed, or not at its end")
        ->group("Run")
        ->type_name(value::file);
  }

  void add_exec_flags() {
    exec->add_option("--task", exec_command.task, "a file with the task (JSON); default: the variable TRAINSTEP_TASK")->type_name(value::file);
    exec->add_option("--role", exec_command.role, "what this replica is; default: primary")->type_name("primary|replica|indexed|rank|launcher");
    exec->add_option("--scratch", exec_command.scratch, "a folder of the pod that outlives its containers")->type_name(value::folder);
    exec->add_option("--install", exec_command.install, "only put this very program to that path")->type_name(value::path);
    exec->add_flag("--report", exec_command.report, "only print the report that rank 0 of this pod has left");
    exec->footer(std::string(exec_examples));
  }

  Commands() {
    app.set_version_flag("--version", "trainstep " TRAINSTEP_VERSION);
    app.get_formatter()->column_width(help_column);  // the commands share it
    app.require_subcommand(1);
    app.footer(std::string(app_examples) + exit_codes_help());
    run_flags.add_to(*run);
    run->add_option("--cluster", command.cluster,
                    "where to train; local: processes of this machine. Default: kubernetes in a pod or with --context, else local")
        ->group("Run")
        ->type_name("local|kubernetes");
    run->add_option("--context", command.context, "kubernetes: a context of the kubeconfig; default: the pod's own cluster, else the current context")
        ->group("Run")
        ->type_name(value::text);
    run->add_option("--python", command.python, "local: the Python interpreter for programs that call python3")->group("Run")->type_name(value::file);
    run->add_option("--run-dir", command.run_dir, "local: folder of the run; default ./trainstep-runs/<job>")->group("Run")->type_name(value::folder);
    run->add_option("--record", command.record, "write the run's events to this file, without secrets; trainstep replay tells its story again")
        ->group("Run")
        ->type_name(value::file);
    add_format(*run);
    add_level(*run);
    run->footer(std::string(run_examples));
    render_flags.add_to(*render);
    render->add_flag("--explain", command.explain, "behind every value, the input that set it")->group("Render");
    render->add_option("--api-version", command.api_version, "for a kind that is served in several")
        ->group("Render")
        ->type_name("kubeflow.org/v1|kubeflow.org/v2beta1");
    render->footer(std::string(render_examples));
    check_flags.add_to(*check);
    check->add_option("--context", command.context, "a context of the kubeconfig; default: the pod's own cluster, else the current context")
        ->group("Run")
        ->type_name(value::text);
    check->footer(std::string(check_examples));
    for (auto* command_of_jobs : {list, attach, logs, stop}) add_jobs_flags(*command_of_jobs);
    for (auto* followed : {run, list, attach, logs, stop}) add_exit_code_file(*followed);
    for (auto* of_one : {attach, logs, stop}) of_one->add_option("RUN", jobs.run, "run id, or the job's name")->required()->type_name("");
    add_level(*attach);
    attach->add_option("--metrics", jobs.metrics, "a file for the metrics: one JSON object")->type_name(value::file);
    attach->add_option("--report", jobs.report, "a file for the report: one HTML page")->type_name(value::file);
    logs->add_option("REPLICA", jobs.replica, "worker-1, ps-0, …; default: the primary replica")->type_name("");
    add_exec_flags();
    replay->add_option("FILE", record, "what run --record has written")->required()->type_name("");
    add_format(*replay);
    add_level(*replay);
    replay->footer(std::string(replay_examples));
    completion->add_option("SHELL", shell, "for which one")->required()->type_name("bash|zsh|fish");
    completion->footer(std::string(completion_examples));
    man->footer(std::string(man_examples));
  }
};

int run_completion(const Commands& commands) {
  if (commands.shell == "words") return print(to_text(complete(describe(commands.app), commands.words)));
  const auto script = completion_script(commands.shell);
  if (script.empty()) return report(usage_error(fmt::format("completion: \"{}\" is not known; write bash, zsh or fish", commands.shell)));
  return print(script);
}

int dispatch(Commands& commands) {
  if (commands.completion->parsed()) return run_completion(commands);
  if (commands.man->parsed()) return print(manual(describe(commands.app)));
  if (commands.list->parsed()) return run_list(commands.jobs);
  if (commands.attach->parsed()) return run_attach(commands.jobs);
  if (commands.logs->parsed()) return run_logs(commands.jobs);
  if (commands.stop->parsed()) return run_stop(commands.jobs);
  if (commands.exec->parsed()) return run_exec(commands.exec_command);
  if (commands.replay->parsed()) return run_replay(commands.record, commands.command.log_options);
  if (commands.check->parsed()) {
    commands.command.flags = commands.check_flags.given(*commands.check);
    return run_check(commands.command);
  }
  if (commands.run->parsed()) {
    commands.command.flags = commands.run_flags.given(*commands.run);
    return run_run(commands.command);
  }
  commands.command.flags = commands.render_flags.given(*commands.render);
  return run_render(commands.command);
}

// --help, --version
int show(const CLI::App& app, const CLI::Success& success) {
  std::ostringstream text;
  app.exit(success, text);
  return print(text.str());
}

// CLI11 says what it has counted; people want to know what to write.
std::string problem(const Commands& commands, const CLI::ParseError& error) {
  std::string text = error.what();
  const auto flag = text.substr(0, text.find(':'));
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError: {
      const auto words = commands.app.remaining();
      const auto unknown = words.empty() ? std::string() : fmt::format("\"{}\" is no command of trainstep; ", words.front());
      return unknown + "the first word must be a command: run, render, check, list, attach, logs, stop, replay, completion or man";
    }
    case CLI::ExitCodes::ArgumentMismatch:
      return error.get_name() == "ArgumentMismatch" && text.find("At Most") != std::string::npos ? flag + " is given twice"
                                                                                                 : flag + " needs a value behind it";
    default:
      return text;
  }
}

// What the command line says behind a flag, even one that is wrong elsewhere; empty: nothing.
std::string word_behind(std::string_view wanted, int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    std::string flag(words[i].substr(0, words[i].find('=')));
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (flag != wanted) continue;
    return std::string(flag.size() < words[i].size() ? words[i].substr(flag.size() + 1) : i + 1 < words.size() ? words[i + 1] : "");
  }
  return {};
}

int run(int argc, char** argv) {
  Commands commands;
  // The program's own words are none of ours.
  int own = argc;
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "exec" || command == "completion") own = static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
  auto& others = command == "exec" ? commands.exec_command.argv : commands.words;
  for (int i = own + 1; i < argc; ++i) others.emplace_back(argv[i]);
  try {
    commands.app.parse(with_dashes(own, argv));
  } catch (const CLI::Success& success) {
    return show(commands.app, success);
  } catch (const CLI::ParseError& error) {
    const auto wrong = usage_error(fmt::format("{}; see trainstep --help", problem(commands, error)));
    if (command == "run") write_termination_log(find_termination_log(), wrong.message);
    return report(wrong);
  }
  return dispatch(commands);
}

int run_without_exceptions(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& exception) {
    return tell_internal_error(argc > 1 ? argv[1] : "", exception);
  }
}

// A standard stream that is closed must not become some other file of ours, into which the log would go. Opened the wrong way round it refuses as
// before.
void keep_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace

void conceal(std::vector<std::string> texts) { secrets = std::move(texts); }

std::string concealed(std::string_view text) { return redacted(text, secrets); }

// Whoever does not read it must not keep us: these are last words.
void complain(std::string_view said) {
  const auto text = printable(concealed(said));
  const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto line = errors_are_json
                        ? trainstep::to_text(Json{{"time", to_rfc3339(now)}, {"source", "trainstep"}, {"level", "error"}, {"message", text}})
                        : fmt::format("trainstep: {}", text);
  write_within(STDERR_FILENO, line + "\n", last_patience);
}

int report(const Error& error) {
  complain(error.message);
  return result::exit_code(result::from_error(error));
}

int run_app(int argc, char** argv) {
  keep_standard_streams();
  process::begin_with_usual_signals();
  errors_are_json = lower(word_behind("--log-format", argc, argv)) == "json";
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone must not end a training (kfp.md §5.1)
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond `ulimit -f` is an error of the write
  ExitCodeFile file;
  if (const auto path = word_behind("--exit-code-file", argc, argv); !path.empty()) {
    auto opened = ExitCodeFile::open(path);
    if (!opened) return report(opened.error());
    file = std::move(*opened);
  }
  const int code = run_without_exceptions(argc, argv);
  file.write(code);
  return code;
}

}  // namespace trainstep::cli
