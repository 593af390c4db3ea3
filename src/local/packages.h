// The installer that the KFP SDKs put in front of a Python program: what it would install, and the command line without it. Pure, but for the query's
// text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep::local {

struct Installer {
  std::size_t word = 0;                   // position of the script in argv; `sh -c` stands before it
  std::vector<std::string> requirements;  // "numpy<2", 'typing-extensions>=3.7.4,<5; python_version<"3.9"'
  bool makes_environment = false;         // installs into a new virtual environment (use_venv)
};

// Every `sh -c SCRIPT` whose script does nothing but pip install and `"$0" "$@"` (docs/design/kfp.md, Function components). A script with anything
// else in it is none: it cannot be left out.
std::vector<Installer> find_installers(const std::vector<std::string>& argv);

// The command that runs the installer alone.
std::vector<std::string> install_command(const std::vector<std::string>& argv, const Installer& installer);
// argv without it; all other words stay where they are.
std::vector<std::string> without(std::vector<std::string> argv, const Installer& installer);

// A Python program: prints those of its arguments that the interpreter it runs in does not satisfy, one a line. Needs neither pip nor packaging, but
// without them it calls missing what it does not understand.
extern const std::string_view missing_packages_program;

}  // namespace trainstep::local
