// The thin process above the program: whoever of the two is killed, no process of the gang is left (docs/adr/0005).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace trainstep::process {

// Forks. The child runs `program` in a process group of its own, so that a kill of the caller's group spares it; its result is returned there. The
// parent waits, passes on every signal that is not ignored, pauses with it on SIGTSTP (Ctrl-Z) and has it go on when anybody
// else has stopped it, kills what is left of the child's descendants once it has ended, and returns its exit code; 3, with a line on stderr, when a
// signal ended the child, or when it succeeded and somebody of its descendants cannot be killed. So the function returns twice, in two processes,
// with the same number as a rule. To be called before any thread is made and with nothing in the buffers of stdout. When it cannot fork, `program`
// runs unguarded with -1. The child cannot read from a terminal.
//
// `tidy_up` is called in the parent when a signal has ended the child, after its descendants: for what the child would have removed at its end.
//
// `program` gets the read end of a pipe that nobody writes to: readable (at its end) means that the guard is gone, and nobody will tidy up after this
// process. SIGTERM, SIGINT and SIGHUP arrive blocked there, so that none is lost before Signals (signals.h) takes them.
int run_guarded(const std::function<int(int guard_fd)>& program, const std::function<void()>& tidy_up = {});

}  // namespace trainstep::process
