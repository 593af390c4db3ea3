// The user's program as the agent's child: it has its own standard streams, gets all signals that it may handle, and has its own exit code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "base/result.h"
#include "process/child.h"

namespace trainstep::agent {

struct ProgramEnd {
  int code = 0;                     // 128 + signal if a signal ended it, or if it exited with 0 because of one
  std::string outlived{};           // the processes that were still running when it ended, for messages; empty: none
  bool killed_any = false;          // of these: some did not end by themselves
  std::vector<std::string> held{};  // files that those had open for writing when they were killed
  std::string survivors{};          // of these: those that could not be killed
  int left_at = 0;                  // the signal (SIGTERM, SIGINT, SIGHUP) that was forwarded to it before it exited with 0; 0: none
  [[nodiscard]] bool succeeded() const { return code == 0; }
};
// Called if the program has succeeded, but processes that it started are still running.
using OnOutlived = std::function<void()>;

// Once `guard` is readable, ends the processes that this process has started, then this process itself: nothing else would do that if it were killed,
// too. -1: there is no guard.
void end_with_guard(PollLoop& loop, int guard);

// Runs it to its end, then ends the processes that it leaves running: two seconds later if it succeeded, otherwise at once; a signal ends that wait.
// This process must be a subreaper; orphans are reaped meanwhile. SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGCONT are forwarded to its
// process group. A program that saves its state on SIGTERM and then exits with 0, as programs that may be evicted do, has not completed its training:
// that does not count as success. Errors: as process::spawn().
Result<ProgramEnd> run_program(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment,
                               const OnOutlived& outlived = {});

// SIGKILLs the program and what it has started, while run_program() runs the loop: that sees the end, and reaps.
void kill_program();

// Runs a short command of our own and returns its output. Errors: as process::spawn(); cancelled: the loop was stopped meanwhile; unavailable: it
// failed (with the last line of its stderr), took longer than a minute, or printed more than `limit` bytes.
Result<std::string> output_of(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment, std::size_t limit);

}  // namespace trainstep::agent
