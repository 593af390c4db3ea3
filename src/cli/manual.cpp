// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/examples.h"

namespace trainstep::cli {
namespace {

constexpr std::string_view examples_begin = "Examples:";

// The code point of the first UTF-8 character of a valid text, and its length.
std::pair<unsigned, std::size_t> code_point(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80U ? 1 : first < 0xE0U ? 2 : first < 0xF0U ? 3 : 4;
  unsigned code = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t i = 1; i < length && i < text.size(); ++i) code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {code, length};
}

// Text without special meaning in roff (groff_char(7)).
std::string plain(std::string_view text) {
  std::string result = !text.empty() && (text.front() == '.' || text.front() == '\'') ? "\\&" : "";
  while (!text.empty()) {
    const auto [code, length] = code_point(text);
    switch (code) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '^':
        result += "\\(ha";
        break;
      default:
        result += length == 1 ? std::string(1, static_cast<char>(code)) : fmt::format("\\[u{:04X}]", code);
    }
    text.remove_prefix(std::min(length, text.size()));
  }
  return result;
}

std::string signature(const Option& option) {
  auto text = "\\fB" + plain(option.name) + "\\fR";
  if (!option.value.empty()) text += option.value.find('|') == std::string::npos ? " \\fI" + plain(option.value) + "\\fR" : " " + plain(option.value);
  return text;
}

bool is_default_group(std::string_view group) { return group == "Options" || group == "Positionals"; }

std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const auto& option : command.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  return groups;
}

std::string entries(const std::vector<Option>& options, std::string_view group) {
  std::string text;
  for (const auto& option : options)
    if (option.group == group && option.name != "--help") text += fmt::format(".TP\n{}\n{}\n", signature(option), plain(option.help));
  return text;
}

// A group that an earlier command has with the same words is only named: several commands share the inputs of a step.
std::string options(const Command& program, const Command& command) {
  std::string text;
  for (const auto& group : groups_of(command)) {
    const auto own = entries(command.options, group);
    const auto* first = &program.commands.front();
    while (first->name != command.name && entries(first->options, group) != own) ++first;
    if (first->name != command.name && !is_default_group(group))
      text += fmt::format(".PP\n{}: same as for \\fB{}\\fR.\n", plain(group), plain(first->name));
    else
      text += (is_default_group(group) ? "" : fmt::format(".PP\n{}:\n", plain(group))) + own;
  }
  return text;
}

std::string paragraphs(std::string_view text) {
  std::string result;
  for (const auto line : split(trim(text), '\n'))
    if (!trim(line).empty()) result += plain(line) + "\n";
  return result.empty() ? result : ".PP\n" + result;
}

std::string examples(std::string_view text) {
  std::string result = ".PP\nExamples:\n.PP\n.nf\n";
  for (const auto line : split(trim(text), '\n')) result += (line.starts_with("  ") ? plain(line.substr(2)) : plain(line)) + "\n";
  return result + ".fi\n";
}

std::string footer(std::string_view text) {
  const auto begin = text.find(examples_begin);
  auto result = paragraphs(text.substr(0, begin));
  if (begin != std::string_view::npos) result += examples(text.substr(begin + examples_begin.size()));
  return result;
}

std::string words_behind(const Command& command) {
  std::string text = command.options.empty() ? "" : " [\\fIOPTIONS\\fR]";
  for (const auto& positional : command.positionals)
    text += positional.required ? fmt::format(" \\fI{}\\fR", plain(positional.name)) : fmt::format(" [\\fI{}\\fR]", plain(positional.name));
  if (command.runs_command) text += fmt::format(" [{} \\fI{}\\fR]", plain("--"), plain("COMMAND..."));
  return text;
}

std::string section(const Command& program, const Command& command) {
  return fmt::format(".SS {} {}{}\n{}\n", plain(program.name), plain(command.name), words_behind(command), plain(command.summary)) +
         entries(command.positionals, "Positionals") + options(program, command) + footer(command.footer);
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_codes) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code, plain(meaning));
  return text;
}

}  // namespace

std::string manual(const Command& program) {
  const auto about = split(program.summary, '\n');
  std::string page = fmt::format(".TH TRAINSTEP 1 \"\" \"trainstep {}\" \"User Commands\"\n", TRAINSTEP_VERSION);
  page += fmt::format(".SH NAME\n{} \\- the training step of a pipeline\n", program.name);
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{}\n", program.name, plain(about.back()));
  page += entries(program.options, "Options") + ".SH COMMANDS\n";
  for (const auto& command : program.commands) page += section(program, command);
  return page + exit_status();
}

}  // namespace trainstep::cli
