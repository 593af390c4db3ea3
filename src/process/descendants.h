// All descendants of a process, even in another process group or session, or under another name. Uses /proc.
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
  bool zombie = false;  // all its threads have ended, but it has not been reaped yet
  std::string name{};   // of its program, at most 15 characters
};

// Whether this process can see others, which all of the following needs: /proc is mounted and belongs to its own PID namespace.
bool sees_processes();
inline constexpr std::string_view cannot_see =
    "/proc is not mounted, or is that of another PID namespace: processes that the program leaves running cannot be stopped; mount it (mount -t proc "
    "proc /proc)";

// Orphans become children of their nearest living ancestor that is a subreaper.
void become_subreaper();

// Children, their children and so on, without `ancestor` itself, and without the processes in `spared` and their descendants. A snapshot: they may
// fork meanwhile.
std::vector<Process> descendants(pid_t ancestor, const std::vector<pid_t>& spared = {});

// The living descendants of this process. Processes that fork and exit during the look are not missed: none is returned only if no process was
// created meanwhile, or if several looks have found none.
std::vector<Process> alive_descendants(const std::vector<pid_t>& spared = {});

// SIGKILLs each process, and its whole process group at once if that contains no others, neither unrelated processes nor any in `spared`: this ends
// processes that keep forking within one group. `ours`: which processes that become children of ours in the next milliseconds are also killed: the
// orphans of a chain of processes that each leave the group, fork and exit.
void kill_all(const std::vector<Process>& processes, const std::vector<pid_t>& spared, const std::function<bool(const Process&)>& ours);

// "4711 (python3), 4712 (sleep) and 3 more"
std::string describe(const std::vector<Process>& processes);

// The variable's value in the environment that the process was started with. nullopt if it was not set, or is unknown because the process has
// overwritten its environment.
std::optional<std::string> started_with(pid_t pid, std::string_view variable);

// SIGKILLs and reaps descendants of this process until only those in `spared` are left. Blocks for at most `limit`; false: some could not be killed
// (uninterruptible sleep).
bool end_descendants(Duration limit, const std::vector<pid_t>& spared = {});

}  // namespace trainstep::process
