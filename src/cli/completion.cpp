// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>

#include "base/text.h"

namespace trainstep::cli {
namespace {

using Paths = Candidates::Paths;

bool is_flag(std::string_view word) { return word.starts_with("-"); }

// Flags may be spelled with underscores.
const Option* flag_of(const Command& command, std::string_view word) {
  const auto spelled_so = [&](const Option& option) {
    return std::equal(word.begin(), word.end(), option.name.begin(), option.name.end(),
                      [](char a, char b) { return a == b || (a == '_' && b == '-'); });
  };
  const auto found = std::find_if(command.options.begin(), command.options.end(), spelled_so);
  return found == command.options.end() ? nullptr : &*found;
}

const Command* command_of(const Command& program, std::string_view word) {
  const auto found = std::find_if(program.commands.begin(), program.commands.end(), [&](const Command& command) { return command.name == word; });
  return found == program.commands.end() ? nullptr : &*found;
}

void offer(Candidates& candidates, std::string_view begun, std::string_view text, std::string_view help) {
  if (text.starts_with(begun)) candidates.words.push_back({std::string(text), std::string(help.substr(0, help.find('\n')))});
}

Candidates values(const std::string& kind, std::string_view begun) {
  Candidates candidates;
  if (kind == value::file || kind == value::path || (kind == value::text && begun.starts_with("@"))) candidates.paths = Paths::files;
  if (kind == value::folder) candidates.paths = Paths::folders;
  if (kind.find('|') != std::string::npos)
    for (const auto word : split(kind, '|')) offer(candidates, begun, word, "");
  return candidates;
}

// What the words before the last one determine.
struct Position {
  const Command* command;
  const Option* flag = nullptr;  // its value comes next
  std::size_t positionals = 0;   // already given
  bool is_file = false;          // after a lone "@", as bash splits it
  bool is_program = false;       // after "--": the words of another program
};

void pass(Position& place, std::string_view word) {
  if (place.is_program) return;
  if (word == "=" && place.flag != nullptr) return;
  if (word == "@" && place.flag != nullptr) {
    place.is_file = true;
    return;
  }
  const bool was_value = place.flag != nullptr;
  place.flag = nullptr;
  place.is_file = false;
  if (was_value) return;
  if (word == "--") {
    place.is_program = true;
  } else if (is_flag(word)) {
    const auto* flag = flag_of(*place.command, word);
    if (flag != nullptr && !flag->value.empty()) place.flag = flag;
  } else if (const auto* command = command_of(*place.command, word)) {
    place.command = command;
  } else {
    ++place.positionals;
  }
}

}  // namespace

Candidates complete(const Command& program, const std::vector<std::string>& words) {
  Position place{.command = &program};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) pass(place, words[i]);
  std::string_view begun = words.empty() ? std::string_view() : words.back();
  if (place.is_program || place.is_file) return {.words = {}, .paths = Paths::files};
  if (place.flag != nullptr) return values(place.flag->value, begun == "=" ? "" : begun);
  if (const auto equals = begun.find('='); begun.starts_with("--") && equals != std::string_view::npos) {
    const auto* flag = flag_of(*place.command, begun.substr(0, equals));
    return flag == nullptr ? Candidates() : values(flag->value, begun.substr(equals + 1));
  }
  Candidates candidates;
  if (is_flag(begun)) {
    for (const auto& flag : place.command->options) offer(candidates, begun, flag.name, flag.help);
  } else if (place.positionals < place.command->positionals.size()) {
    const auto& due = place.command->positionals[place.positionals];
    candidates = values(due.value.empty() ? due.name : due.value, begun);
  } else {
    for (const auto& command : place.command->commands) offer(candidates, begun, command.name, command.summary);
  }
  return candidates;
}

std::string lines_of(const Candidates& candidates) {
  if (candidates.paths != Paths::none) return candidates.paths == Paths::files ? ":files\n" : ":folders\n";
  std::string text;
  for (const auto& word : candidates.words) text += word.text + "\t" + word.help + "\n";
  return text;
}

}  // namespace trainstep::cli
