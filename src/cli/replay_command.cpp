// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/files.h"
#include "cli/app.h"
#include "cli/print.h"
#include "follow/describe.h"
#include "follow/record.h"
#include "log/log.h"
#include "result/verdict.h"

namespace trainstep::cli {
namespace {

class Player {
 public:
  explicit Player(log::Options options) : m_options(options) {}

  Result<void> head(const Json& line) {
    ASSIGN(m_replay, follow::read_head(line));
    m_log.emplace(STDOUT_FILENO, m_options, m_replay.began);
    show(m_replay.began, m_replay.machine->begin(m_replay.began));
    return {};
  }
  Result<void> event(const Json& line) {
    if (m_ended) return input_error("the record continues after its end");
    ASSIGN(m_ended, follow::read_end(line));
    if (m_ended) return {};
    ASSIGN(const auto event, follow::read_event(line, m_replay.machine->members().size()));
    const auto actions = m_replay.machine->handle(event);
    if (m_log->shows(log::Level::debug))
      if (const auto text = follow::describe_decision(event, actions, m_replay.machine->rules()); !text.empty())
        m_log->write(event.at, log::Level::debug, text);
    show(event.at, actions);
    return {};
  }
  Result<int> end() {
    m_log->writer().finish(for_ever);
    if (!m_ended) return input_error("the record ends before the run did: its outcome is unknown");
    const auto& [verdict, at] = *m_ended;
    const bool succeeded = verdict.verdict_class == result::VerdictClass::succeeded;
    m_log->conclude(at, succeeded, result::describe(verdict));
    if (verdict.first_failure)
      for (const auto& line : verdict.first_failure->last_lines) m_log->conclude(at, succeeded, "  " + line);
    m_log->writer().finish(for_ever);
    return result::exit_code(verdict);
  }

 private:
  void show(Time at, const std::vector<follow::Action>& actions) {
    for (const auto& action : actions) {
      if (const auto* said = std::get_if<follow::LogMessage>(&action))
        m_log->write(at, said->warning ? log::Level::warning : log::Level::info, said->text);
      if (const auto* output = std::get_if<follow::ShowOutput>(&action))
        m_log->output(at, m_replay.machine->rules().members.at(output->member).name, output->lines);
    }
    if (m_log->writer().waiting() > log::Writer::full) m_log->writer().finish(for_ever);
  }

  log::Options m_options;
  std::optional<log::Log> m_log;  // set at the start of the record
  follow::Replay m_replay;
  std::optional<follow::RecordedEnd> m_ended;
};

// The next line; false: there is none.
Result<bool> read_line(std::istream& file, std::string& line) {
  constexpr std::size_t longest = std::size_t{64} << 20U;
  line.clear();
  for (auto* buffer = file.rdbuf();;) {
    const auto c = buffer->sbumpc();
    if (c == std::istream::traits_type::eof()) return !line.empty();
    if (c == '\n') return true;
    if (line.size() == longest) return input_error(fmt::format("is longer than {} bytes; this is not a record", longest));
    line += static_cast<char>(c);
  }
}

Result<int> play(const std::string& path, log::Options options) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return input_error(fmt::format("{} is a folder; expected a file written by run --record", path));
  std::ifstream file(path);
  if (!file) return input_error(file_error("read", path, errno).message);
  Player player(options);
  std::string text;
  int number = 0;
  while (true) {
    const auto where = fmt::format("{}, line {}", path, number + 1);
    ASSIGN(const auto more, in_context(where, read_line(file, text)));
    if (!more) break;
    ASSIGN(const auto line, parse_json(text, where));
    TRY(in_context(where, ++number == 1 ? player.head(line) : player.event(line)));
  }
  if (number == 0) return input_error(fmt::format("{} is empty; a record is a file written by run --record", path));
  return player.end();
}

}  // namespace

int run_replay(const std::string& path, log::Options options) { return exit_code_of(play(path, options)); }

}  // namespace trainstep::cli
