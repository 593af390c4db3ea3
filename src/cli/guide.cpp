// SPDX-License-Identifier: Apache-2.0
#include "cli/guide.h"

#include <CLI/CLI.hpp>

namespace trainstep::cli {

Command command_tree(const CLI::App& app) {
  Command command{.name = app.get_name(),
                  .summary = app.get_description(),
                  .footer = app.get_footer(),
                  .options = {},
                  .positionals = {},
                  .runs_command = runs_command(app.get_name()),
                  .commands = {}};
  for (const auto* option : app.get_options()) {
    const bool positional = option->get_positional();
    auto& list = positional ? command.positionals : command.options;
    list.push_back({.name = positional ? option->get_name(true, false) : "--" + option->get_lnames().front(),
                    .value = option->get_expected_max() == 0 ? "" : option->get_type_name(),
                    .help = option->get_description(),
                    .group = option->get_group(),
                    .required = option->get_required()});
  }
  for (const auto* subcommand : app.get_subcommands({})) command.commands.push_back(command_tree(*subcommand));
  return command;
}

bool runs_command(std::string_view command) { return command == "run" || command == "render" || command == "check" || command == "exec"; }

}  // namespace trainstep::cli
