// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "base/poll_loop.h"
#include "cli/app.h"
#include "follow/record.h"
#include "result/verdict.h"

namespace trainstep::cli {
namespace {

class Player {
 public:
  explicit Player(LogFormat format) : m_console(m_loop, STDOUT_FILENO, format) {}

  Result<void> head(const Json& line) {
    ASSIGN(m_replay, follow::read_head(line));
    show(m_replay.began, m_replay.machine->begin(m_replay.began));
    return {};
  }
  Result<void> event(const Json& line) {
    ASSIGN(const auto event, follow::read_event(line, m_replay.machine->members().size()));
    show(event.at, m_replay.machine->handle(event));
    return {};
  }
  Result<int> end() {
    m_console.finish();
    if (!m_verdict) return input_error("the record ends before the run did: nothing can be said of its end");
    m_console.say(m_end, result::describe(*m_verdict));
    if (m_verdict->first_failure)
      for (const auto& line : m_verdict->first_failure->last_lines) m_console.say(m_end, "  " + line);
    m_console.finish();
    return result::exit_code(*m_verdict);
  }

 private:
  void show(Time at, const std::vector<follow::Action>& actions) {
    for (const auto& action : actions) {
      if (const auto* said = std::get_if<follow::Say>(&action)) m_console.say(at, said->text);
      if (const auto* output = std::get_if<follow::ShowOutput>(&action))
        m_console.output(at, m_replay.machine->rules().members.at(output->member).name, output->lines);
      if (const auto* finish = std::get_if<follow::Finish>(&action)) m_verdict = finish->verdict;
    }
    m_end = at;
  }

  PollLoop m_loop;
  Console m_console;
  follow::Replay m_replay;
  std::optional<result::Verdict> m_verdict;
  Time m_end;
};

Result<int> play(const std::string& path, LogFormat format) {
  std::ifstream file(path);
  if (!file) return input_error(fmt::format("{} cannot be read", path));
  Player player(format);
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    const auto where = fmt::format("{}, line {}", path, number);
    ASSIGN(const auto line, parse_json(text, where));
    TRY(in_context(where, number == 1 ? player.head(line) : player.event(line)));
  }
  return player.end();
}

}  // namespace

int run_replay(const std::string& path, LogFormat format) {
  const auto code = play(path, format);
  return code ? *code : report(code.error());
}

}  // namespace trainstep::cli
