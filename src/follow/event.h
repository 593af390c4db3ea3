// What happens to a running job and what is to be done about it: the two vocabularies between the core and the backends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/time.h"
#include "result/verdict.h"

namespace trainstep::follow {

// Replicas are known by their position in Rules::members.
using MemberIndex = std::size_t;

// How a process or container ended: by exit code, or by a signal.
struct Ending {
  int exit_code = 0;
  std::optional<int> signal;
  std::string reason;  // "OOMKilled", "Evicted"; empty: nothing known beyond the code
  [[nodiscard]] bool succeeded() const { return exit_code == 0 && !signal; }
};

// --- events: facts, with the time at which they were learned ---
struct Prepared {};  // the backend is ready to start members
struct MemberStarted {
  MemberIndex member;
  std::string place;
};  // `place`: "pid 4711", a node's name
struct MemberOutput {
  MemberIndex member;
  std::string_view lines;
};  // whole lines, each with its newline; valid during handle() only
struct MemberEnded {
  MemberIndex member;
  Ending ending;
};
struct BackendFailed {
  Error error;
};  // nothing more will come; the job could not be started or was lost
struct StopRequested {
  int signal;
};  // SIGTERM, SIGINT: somebody wants an end
struct TimerFired {
  int timer;
};
struct Event {
  Time at;
  std::variant<Prepared, MemberStarted, MemberOutput, MemberEnded, BackendFailed, StopRequested, TimerFired> what;
};

// --- actions: orders, carried out in this sequence ---
struct StartMember {
  MemberIndex member;
  int attempt;
};  // attempt 0 is the first
struct StopMember {
  MemberIndex member;
  Duration grace;
};  // SIGTERM, after `grace` SIGKILL; its MemberEnded follows
struct SetTimer {
  int timer;
  Duration delay;
};  // one timer of a number at a time; a later one replaces it
struct ShowOutput {
  MemberIndex member;
  std::string_view lines;
};  // print with the member's prefix; same lifetime as the event's
struct Say {
  std::string text;
};  // a line of the story
struct ShowProgress {
  int done;
  int of;
};  // epochs, for ARGO_PROGRESS_FILE and the live line
struct Finish {
  result::Verdict verdict;
};  // everything has ended
using Action = std::variant<StartMember, StopMember, SetTimer, ShowOutput, Say, ShowProgress, Finish>;

}  // namespace trainstep::follow
