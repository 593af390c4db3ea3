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
#include "base/written_secrets.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/exit_code_file.h"
#include "cli/guide.h"
#include "cli/internal_error.h"
#include "cli/manual.h"
#include "cli/print.h"
#include "cli/replay_command.h"
#include "cli/step_command.h"
#include "cli/termination_log.h"
#include "process/signals.h"
#include "result/verdict.h"
#include "step/targets.h"

namespace trainstep::cli {
namespace {

constexpr Duration stderr_timeout{5'000};
bool errors_are_json = false;      // set once, before anything is printed
std::vector<std::string> secrets;  // conceal()

// Flags may be spelled with underscores, like inputs in a pipeline; CLI11 knows one spelling. "--memory=" is "--memory" with an empty word, as a
// shell makes of "--memory=$X": CLI11 would take the word that follows.
std::vector<std::string> with_dashes(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 expects them in reverse order
    std::string word = argv[i];
    const auto equals = std::min(word.find('='), word.size());
    if (word.starts_with("--")) {
      std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), '_', '-');
      if (equals + 1 == word.size()) {
        words.emplace_back();
        word.pop_back();
      }
    }
    words.push_back(std::move(word));
  }
  return words;
}

int run_completion(const Commands& commands) {
  if (commands.shell == "words") return print(lines_of(complete(command_tree(commands.app), commands.words)));
  const auto script = completion_script(commands.shell);
  if (script.empty()) return report(usage_error(fmt::format("completion: unknown shell \"{}\"; expected bash, zsh or fish", commands.shell)));
  return print(script);
}

// Without dashes.
std::vector<std::string> flag_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options())
    for (const auto& name : option->get_lnames()) names.push_back(name);
  return names;
}

void read_step_flags(StepCommand& command, const InterfaceFlags& flags, const CLI::App& app) {
  command.flags = flags.given(app);
  command.flag_names = flag_names(app);
}

int dispatch(Commands& commands) {
  if (commands.completion->parsed()) return run_completion(commands);
  if (commands.man->parsed()) return print(manual(command_tree(commands.app)));
  if (commands.list->parsed()) return run_list(commands.jobs);
  commands.jobs.exit_code_file = commands.command.exit_code_file;
  if (commands.attach->parsed()) return run_attach(commands.jobs);
  if (commands.logs->parsed()) return run_logs(commands.jobs);
  if (commands.stop->parsed()) return run_stop(commands.jobs);
  if (commands.exec->parsed()) return run_exec(commands.exec_command);
  if (commands.replay->parsed()) return run_replay(commands.record, commands.command.log_options);
  if (commands.check->parsed()) {
    read_step_flags(commands.command, commands.check_flags, *commands.check);
    return run_check(commands.command);
  }
  if (commands.run->parsed()) {
    read_step_flags(commands.command, commands.run_flags, *commands.run);
    return run_run(commands.command);
  }
  read_step_flags(commands.command, commands.render_flags, *commands.render);
  return run_render(commands.command);
}

// --help, --version
int show(const CLI::App& app, const CLI::Success& success) {
  std::ostringstream text;
  app.exit(success, text);
  return print(text.str());
}

std::string missing_command(const CLI::App& app) {
  const std::vector<std::string> known{"run", "render", "check", "list", "attach", "logs", "stop", "replay", "completion", "man"};
  const auto words = app.remaining();
  if (words.empty()) return "expected a command: run, render, check, list, attach, logs, stop, replay, completion or man";
  const auto meant = nearest(words.front(), known);
  return fmt::format(
      "unknown command \"{}\"; {}", words.front(),
      meant ? fmt::format("did you mean {}?", *meant) : "expected one of run, render, check, list, attach, logs, stop, replay, completion, man");
}

// The first word that the command does not know. Those after -- are left to `app`.
std::string unexpected(const CLI::App& app, const CLI::App& command) {
  auto words = command.remaining();
  if (words.empty()) words = app.remaining();
  std::erase(words, "--");
  const auto word = words.empty() ? std::string() : words.front().substr(0, words.front().find('='));
  if (!word.starts_with("--")) return fmt::format("{}: unexpected argument \"{}\"", command.get_name(), word);
  const auto meant = nearest(word.substr(2), flag_names(command));
  return fmt::format("{}: unknown flag {}{}", command.get_name(), word, meant ? fmt::format("; did you mean --{}?", *meant) : "");
}

// CLI11 reports what it has counted; users need to know what to write.
std::string problem(const Commands& commands, const CLI::ParseError& error) {
  std::string text = error.what();
  const auto flag = text.substr(0, text.find(':'));
  const auto chosen = commands.app.get_subcommands();
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
      if (chosen.empty()) return missing_command(commands.app);
      return fmt::format("{}: {} is missing", chosen.front()->get_name(), text.substr(0, text.find(' ')));
    case CLI::ExitCodes::ExtrasError:
      if (!chosen.empty()) return unexpected(commands.app, *chosen.front());
      return text;
    case CLI::ExitCodes::ArgumentMismatch:
      return error.get_name() == "ArgumentMismatch" && text.find("At Most") != std::string::npos ? flag + " is specified twice"
                                                                                                 : flag + " requires a value";
    default:
      return text;
  }
}

// The value of a flag on the command line, even if the command line is wrong elsewhere; empty: none.
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

// Creates the file first, because callers wait for it, but not if the command reads it.
Result<ExitCodeFile> open_exit_code_file(const std::string& path, int argc, char** argv) {
  step::Paths read;
  for (const auto& field : step::input_fields()) {
    const auto value = word_behind("--" + step::flag_name(field), argc, argv);
    const bool file = value.starts_with('@');
    if (file || field.shape == step::Field::Shape::path) read[step::flag_name(field)] = value.substr(file ? 1 : 0);
  }
  TRY(step::check_beside("exit-code-file", path, read));
  return ExitCodeFile::open(path);
}

// Completion asks about the words after --.
bool takes_program(std::string_view command) { return runs_command(command) || command == "completion"; }

int run(int argc, char** argv) {
  Commands commands;
  // The arguments of the program do not count.
  const std::string_view command = argc > 1 ? argv[1] : "";
  const auto own = takes_program(command) ? static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv) : argc;
  std::vector<std::string> words(argv + std::min(own + 1, argc), argv + argc);
  if (command == "exec")
    commands.exec_command.argv = std::move(words);
  else if (command == "completion")
    commands.words = std::move(words);
  else if (own < argc)
    commands.command.program = std::move(words);
  try {
    commands.app.parse(with_dashes(own, argv));
  } catch (const CLI::Success& success) {
    return show(commands.app, success);
  } catch (const CLI::ParseError& error) {
    const auto text = problem(commands, error);
    const auto wrong = usage_error(text.ends_with('?') ? text : text + "; see trainstep --help");
    if (command == "run") write_termination_log(find_termination_log(), wrong.message);
    return report(wrong);
  }
  return dispatch(commands);
}

int run_without_exceptions(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& exception) {
    return report_internal_error(argc > 1 ? argv[1] : "", exception);
  }
}

// A closed standard stream must not become another file of ours, into which the log would go. If it is open in the wrong direction, it fails as
// before.
void keep_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace

void conceal(std::vector<std::string> texts) { secrets = std::move(texts); }

std::string concealed(std::string_view text) { return without_quoted_secrets(redacted(text, secrets)); }

// These are the last lines: a reader that does not read must not block us.
void complain(std::string_view said) {
  const auto text = printable(concealed(said));
  const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto line = errors_are_json
                        ? trainstep::to_text(Json{{"time", to_rfc3339(now)}, {"source", "trainstep"}, {"level", "error"}, {"message", text}})
                        : fmt::format("trainstep: {}", text);
  write_within(STDERR_FILENO, line + "\n", stderr_timeout);
}

int report(const Error& error) {
  complain(error.message);
  return result::exit_code(result::from_error(error));
}

int exit_code_of(const Result<int>& code) { return code ? *code : report(code.error()); }

int run_app(int argc, char** argv) {
  keep_standard_streams();
  process::begin_with_usual_signals();
  errors_are_json = lower(word_behind("--log-format", argc, argv)) == "json";
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone must not end a training run (docs/design/kfp.md, Signals)
  std::signal(SIGXFSZ, SIG_IGN);  // a file that exceeds `ulimit -f` is an error of the write
  // Inherited from our parent (timers and O_ASYNC survive exec): they are not stop requests.
  for (const int signal : {SIGPROF, SIGVTALRM, SIGIO}) std::signal(signal, SIG_IGN);
  ExitCodeFile file;
  if (const auto path = word_behind("--exit-code-file", argc, argv); !path.empty()) {
    auto opened = open_exit_code_file(path, argc, argv);
    if (!opened) return report(opened.error());
    file = std::move(*opened);
  }
  const int code = run_without_exceptions(argc, argv);
  if (file) process::ignore_signals(process::stop_signals());  // it would report another end
  const auto written = file.write(code);
  if (!written) complain(written.error().message);
  return code == 0 && !written ? result::exit_code(result::from_error(written.error())) : code;
}

}  // namespace trainstep::cli
