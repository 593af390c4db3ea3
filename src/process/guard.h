// The thin parent process of the program: whichever of the two is killed, no process of the gang is left running (docs/adr/0005).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace trainstep::process {

// Forks. The child runs `program` in its own process group, so that a kill of the caller's group spares it, and returns its result. The parent waits,
// forwards every signal that is not ignored, pauses together with the child on SIGTSTP (Ctrl-Z), continues it if anyone else has stopped it, kills
// the remaining descendants once the child has ended, and returns its exit code; or 3, with a line on stderr, if a signal killed the child, or if the
// child succeeded and one of its descendants cannot be killed. So the function returns twice, in two processes, usually with the same number. Call it
// before any thread is created and with empty stdout buffers. If fork fails, `program` runs unguarded with -1. The child cannot read from a terminal.
//
// `tidy_up` is called in the parent if a signal has killed the child, after its descendants have ended: it does the clean-up that the child would
// have done on exit.
//
// `program` gets the read end of a pipe that is never written to: readable (end of file) means that the guard is gone and nothing will clean up after
// this process. SIGTERM, SIGINT and SIGHUP are blocked there, so that none is lost before Signals (signals.h) receives them.
int run_guarded(const std::function<int(int guard_fd)>& program, const std::function<void()>& tidy_up = {});

}  // namespace trainstep::process
