// The verdict: how a step ended. The exit code, the final log line and the report are derived from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trainstep::result {

// A closed list; the documentation uses the same words.
enum class VerdictClass {
  succeeded,    // 0   the training succeeded and its outputs are delivered
  user,         // 1   the training program failed
  input,        // 2   usage, input or configuration is wrong
  system,       // 3   infrastructure, a bug, or an outcome that cannot be determined
  timeout,      // 4   a limit set by the user was exceeded
  capacity,     // 5   evicted, preempted, node lost, never scheduled within the limit
  interrupted,  // 75  the step was interrupted, its job keeps running for the next attempt
  cancelled,    // 128 + signal: 130 SIGINT, 143 SIGTERM
};
std::string_view name(VerdictClass verdict_class);

// The replica that failed first; the others usually fail because of it.
struct FirstFailure {
  std::string replica;           // "worker-1"
  std::optional<int> exit_code;  // absent if it was killed by a signal or nothing is known
  std::optional<int> signal;
  std::string reason;                   // "OOMKilled", the last line of a traceback; may be empty
  std::vector<std::string> last_lines;  // of its log, oldest first
};

struct Verdict {
  VerdictClass verdict_class = VerdictClass::system;
  std::string message;  // one sentence (or a few lines) for display; may be empty for succeeded
  std::optional<FirstFailure> first_failure;
  bool retry_can_help = false;  // repeating the step unchanged may succeed
  int signal = SIGTERM;         // the signal of a cancellation; meaningless for other classes
};

// As in README.md, Exit codes, and in the comments of the classes above.
int exit_code(const Verdict& verdict);

// The verdict of a step that `error` has stopped.
Verdict from_error(const Error& error);

// The training succeeded, but its outputs are missing because of `error`. What the program did not write (input) is the user's error.
Verdict lost_outputs(const Error& error);

// A short text for display, without the last lines: "failed (user): 1 of 3 replicas failed; first failure: worker-1 was killed by SIGKILL (9):
// OOMKilled". One line: unprintable characters in foreign text are escaped (base/printable.h).
std::string describe(const Verdict& verdict);

// "worker-1 exited with code 3", "worker-1 was killed by SIGKILL (9): OOMKilled"
std::string describe(const FirstFailure& failure);

// "SIGTERM (15) received"; for SIGKILL, which nobody can receive, that it ended the guard (process/guard.h).
std::string describe_stop(int signal);

// "SIGKILL (9)"; "signal 63" if it has no common name.
std::string signal_name(int signal);

}  // namespace trainstep::result
