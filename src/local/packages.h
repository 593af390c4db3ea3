// The installer that the KFP SDKs put in front of a Python program: what it would install, and the command line without it. Pure, except for the text
// of the query.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep::local {

struct Installer {
  std::size_t word = 0;                   // index of the script in argv; `sh -c` comes before it
  std::vector<std::string> requirements;  // "numpy<2", 'typing-extensions>=3.7.4,<5; python_version<"3.9"'
  bool makes_environment = false;         // installs into a new virtual environment (use_venv)
};

// Every `sh -c SCRIPT` whose script only runs pip install and `"$0" "$@"` (docs/design/kfp.md, Function components). A script with anything else in
// it does not count: it cannot be omitted.
std::vector<Installer> find_installers(const std::vector<std::string>& argv);

// The command that runs only the installer.
std::vector<std::string> install_command(const std::vector<std::string>& argv, const Installer& installer);
// argv without the installer; the indexes of all other words stay the same.
std::vector<std::string> without(std::vector<std::string> argv, const Installer& installer);

// A Python program: prints those of its arguments that its interpreter does not satisfy, one per line. It needs neither pip nor packaging, but
// without them it reports requirements that it does not understand as missing.
extern const std::string_view missing_packages_program;

}  // namespace trainstep::local
