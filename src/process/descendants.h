// All processes that come from one process, wherever they have gone: own group, own session, own name. By /proc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace trainstep::process {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  bool zombie = false;  // has ended with all its threads, but nobody waited for it yet
  std::string name{};   // of its program, at most 15 characters
};

// Whether this process can see others, of which all that follows lives: /proc is mounted, and is that of its own PID namespace.
bool sees_processes();
inline constexpr std::string_view cannot_see =
    "/proc is not mounted, or is that of another PID namespace: processes that the program leaves running cannot be stopped; mount it (mount -t proc "
    "proc /proc)";

// Orphans stay descendants of their nearest living ancestor that is a subreaper.
void become_subreaper();

// Children, their children and so on, without `ancestor` itself and without those of `spared` and theirs. A snapshot: they may fork meanwhile.
std::vector<Process> descendants(pid_t ancestor, const std::vector<pid_t>& spared = {});

// Those of this process that live. Nobody escapes by forking and ending while we look: "none" is said when nobody was made meanwhile, or when several
// looks have found none.
std::vector<Process> alive_descendants(const std::vector<pid_t>& spared = {});

// SIGKILL to each, and to its whole process group at once where nobody else is in it, neither a stranger nor one of `spared`: who forks for ever in
// one group ends with it. `ours`: which of those who become children of ours in the next milliseconds are killed, too: the orphans of a chain of
// processes that each leave the group, fork and end.
void kill_all(const std::vector<Process>& processes, const std::vector<pid_t>& spared, const std::function<bool(const Process&)>& ours);

// "4711 (python3), 4712 (sleep) and 3 more"
std::string describe(const std::vector<Process>& processes);

// The variable's value in the environment that the process was started with. None when it had none, or when that cannot be known: the process may
// have written something else there.
std::optional<std::string> started_with(pid_t pid, std::string_view variable);

// Kills (SIGKILL) and reaps descendants of this process until there are none but those of `spared`. Blocks up to `limit`; false: some would not die
// (uninterruptible sleep).
bool end_descendants(Duration limit, const std::vector<pid_t>& spared = {});

}  // namespace trainstep::process
