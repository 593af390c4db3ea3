// The command line as plain values, for completion and the manual page. Read from the CLI11 app itself, so that they cannot differ.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace trainstep::cli {

// The kinds of values: the type names of the app. Alternatives are written "text|json".
namespace value {
inline constexpr const char* file = "FILE";
inline constexpr const char* folder = "FOLDER";
inline constexpr const char* path = "PATH";  // file or folder
inline constexpr const char* text = "TEXT";
}  // namespace value

struct Option {
  std::string name;   // "--metrics"; for a positional: "RUN"
  std::string value;  // a kind of value, or alternatives; empty: a switch, or a positional of no such kind
  std::string help;
  std::string group;
  bool required = false;
};

struct Command {
  std::string name;
  std::string summary;
  std::string footer;  // prose, then "Examples:" and indented lines
  std::vector<Option> options, positionals;
  bool runs_command = false;  // another program, with its arguments, after --
  std::vector<Command> commands;
};

Command command_tree(const CLI::App& app);

bool runs_command(std::string_view command);

}  // namespace trainstep::cli
