// Starts a child process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace trainstep::process {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Command {
  std::vector<std::string> argv;  // argv[0] without a slash is searched for in the PATH of `environment`
  Variables environment;          // complete; for a repeated name the last value is used
  std::string folder;             // working directory; must exist
  bool inherits = false;          // stdin, stdout and stderr are inherited from us; Child::out and err are closed
  bool subreaper = false;         // orphaned descendants become its children while it runs, as with PID 1 in a container
};

struct Child {
  pid_t pid = 0;  // also its process group
  Fd out;         // read ends of its stdout and stderr, non-blocking
  Fd err;
};

// Starts the command in its own process group, with default signal handlers and no other descriptors of ours. Unless `inherits` is set, its stdin is
// /dev/null, and it has its own session without a terminal: a background process that reads from a terminal would be stopped forever. It is killed
// when this process dies. Errors (input): the program does not exist or cannot be run, the folder does not exist, the command line is too long.
Result<Child> spawn(const Command& command);

// The file that spawn() would run; nullopt if there is no executable one.
std::optional<std::string> find_program(const Command& command);

// The effective value, as getenv(3) returns it.
const std::string* find_variable(const Variables& variables, std::string_view name);
// Replaces the value, or appends the variable.
void set_variable(Variables& variables, std::string_view name, std::string value);
// The environment of this process.
Variables own_environment();

}  // namespace trainstep::process
