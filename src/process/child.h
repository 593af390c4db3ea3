// One child process: how it is started.
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
  std::vector<std::string> argv;  // argv[0] without a slash is searched on the PATH of `environment`
  Variables environment;          // the whole of it; of a name that stands there twice the later value counts
  std::string folder;             // working directory; must exist
  bool inherits = false;          // stdin, stdout and stderr are ours, nothing stands between; Child::out and err are closed
  bool subreaper = false;         // orphans among its descendants are its own as long as it lives, as those of a container are its first process's
};

struct Child {
  pid_t pid = 0;  // also its process group
  Fd out;         // read ends of its stdout and stderr, not blocking
  Fd err;
};

// Starts the command in a process group of its own, with default signal handling and no other descriptor of ours. Unless it inherits stdin and all,
// it has /dev/null as that, and a session of its own, without a terminal: who asks there would be stopped for ever, as of those in the background. It
// is killed when this process dies. Errors (input): the program does not exist or cannot be run, the folder does not exist, the command line is too
// long.
Result<Child> spawn(const Command& command);

// The file that spawn() would run; none when there is none that may be executed.
std::optional<std::string> find_program(const Command& command);

// The value that counts, as getenv(3) does.
const std::string* find_variable(const Variables& variables, std::string_view name);
// Replaces the value, or appends.
void set_variable(Variables& variables, std::string_view name, std::string value);
// The environment of this process.
Variables own_environment();

}  // namespace trainstep::process
