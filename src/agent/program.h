// The user's program as the agent's child: its own standard streams, all signals that it may want, its own exit code.
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
  int code = 0;                     // 128 + signal where a signal ended it, or it left with 0 because of one
  std::string outlived{};           // the processes that it had left running when it ended, for people; empty: none
  bool killed_any = false;          // of these: they did not end by themselves
  std::vector<std::string> held{};  // files that those had open for writing as they were killed
  std::string survivors{};          // of these: those that could not be killed
  int left_at = 0;                  // the signal (SIGTERM, SIGINT, SIGHUP) that was passed on to it before it ended with 0; 0: none
  [[nodiscard]] bool succeeded() const { return code == 0; }
};
// Called when the program has ended well, but what it left running has not.
using Outlived = std::function<void()>;

// When `guard` is readable this process ends, and before it what it has started: nobody else would do that if it were killed, too. -1: there is none.
void end_with_guard(PollLoop& loop, int guard);

// Runs it to its end, and ends what it leaves behind: after a good end two seconds later, else at once; a signal ends the wait. This process must be
// a subreaper; orphans are buried meanwhile. SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGCONT that come here go on to its process
// group. Who saves what there is at a SIGTERM and then ends with 0, as programs do that may be evicted, has not trained to the end: that is no good
// end. Errors: as process::spawn().
Result<ProgramEnd> run_program(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment,
                               const Outlived& outlived = {});

// Runs a short command of ours and returns what it prints. Errors: as process::spawn(); cancelled: the loop was stopped meanwhile; unavailable: it
// failed (with the last line of its stderr), took longer than a minute, or printed more than `limit` bytes.
Result<std::string> output_of(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment, std::size_t limit);

}  // namespace trainstep::agent
