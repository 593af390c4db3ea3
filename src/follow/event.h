// Events of a running job, and the actions that follow from them: the interface between the state machines and the backends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/time.h"
#include "job_types/job_type.h"
#include "job_types/pod_view.h"
#include "result/verdict.h"

namespace trainstep::follow {

// The position of a replica in Rules::members.
using MemberIndex = std::size_t;

// How a process or container ended: by exit code, or by a signal.
struct Termination {
  // What ended the program or kept it from starting, if the kubelet knows.
  enum class Cause {
    program,            // nothing is known but its exit code or signal
    oom_killed,         // it exceeded its memory limit
    bad_command,        // the runtime could not start it: the command, image or settings are wrong on every node
    not_started,        // the runtime could not start it on this node
    end_unseen,         // it ended while the kubelet was away: its exit code is made up
    deadline_exceeded,  // its pod was active for longer than activeDeadlineSeconds
    evicted,            // its pod was evicted
  };
  int exit_code = 0;
  std::optional<int> signal;
  std::string reason;                                 // "OOMKilled", "Evicted"; empty: nothing is known beyond the code
  bool vanished = false;                              // there is no code: the pod was evicted or deleted, or its node is lost
  bool disrupted = false;                             // not caused by the program: capacity
  std::optional<Time> disrupted_at{};                 // when its pod was marked for that; nullopt: unknown, or it was not
  std::optional<result::VerdictClass> agent_class{};  // the agent's own message, if it was not the program that failed
  Cause cause = Cause::program;
  std::string init_container{};  // that failed, so that the program did not run; empty: none
  bool repeated = false;         // it did nothing: the agent reports that the training had finished in an earlier attempt
  [[nodiscard]] bool succeeded() const { return exit_code == 0 && !signal && !vanished; }
};

// --- events: facts, with the time at which they became known ---
struct Prepared {};  // the backend is ready to start members
struct MemberStarted {
  MemberIndex member;
  std::string ran_on;
};  // `ran_on`: "pid 4711", the name of a node
struct MemberOutput {
  MemberIndex member;
  std::string_view lines;
  std::string_view attempt = {};  // in a cluster: as named by FollowLog
};  // complete lines, each with its newline; only valid during handle()
struct MemberEnded {
  MemberIndex member;
  Termination ending;
};
struct BackendFailed {
  Error error;
};  // no more events follow; the job could not be started or was lost
struct StopRequested {
  int signal;
};  // SIGTERM or SIGINT: a request to stop. SIGKILL: of the guard of a local run (process/guard.h)
struct TimerFired {
  int timer;
};

// --- events of a job in a cluster ---
struct BackendMessage {
  std::string text;
  bool warning = false;
};  // a log line of the backend: where, as which user, what was created
struct JobFound {
  bool adopted;
  bool backoff_is_kept = false;        // the controller of the resource that is served here enforces backoffLimit
  std::optional<Time> created = {};    // when it was created, if it was adopted; like all times of pods by the cluster's clock …
  std::optional<Duration> clock = {};  // … which is ahead of ours by this; unset: unknown, assumed to be equal
};  // it exists under our name; `adopted`: an earlier attempt of this step created it
struct JobSeen {
  job_types::Judgement judgement;
};  // what its status says now
struct JobGone {};  // it no longer exists
struct PodSeen {
  MemberIndex member;
  job_types::PodView pod;
};  // may repeat what is known
struct PodsHidden {
  std::string reason;
};  // the job can be seen, its pods cannot
struct PodGone {
  MemberIndex member;
  std::string uid;
};
struct WarningSeen {
  std::string object;  // "pytorchjob/train-1"
  std::string reason;  // "FailedCreate", "ValidationError"
  std::string message;
  std::string version = {};       // of the event object: it is reported again after every list
  std::optional<Time> last = {};  // when it happened last, by the cluster's clock
};  // a Warning event of this job or of its parts, never of another object that has, or had, the same name
struct PodWarningSeen {
  MemberIndex member;
  std::string uid;                // of the pod
  std::string reason;             // "FailedMount"
  std::string message;            // of the kubelet, or of the controller that attaches volumes
  std::optional<Time> last = {};  // when it happened last, by our clock, if that was before WatchPodEvents; unset: now
};  // a Warning event of a pod. Some are reported only once, for example that another node has the volume (attachdetach/reconciler/reconciler.go)
struct LogComplete {
  MemberIndex member;
  std::string attempt;  // as named by FollowLog
  bool whole = true;    // no line is missing, as far as the server reports
};  // everything of it that can be read was sent as MemberOutput
struct CancelSeen {
  std::string what;  // "the pipeline's run was terminated"
};  // known before, or instead of, a signal
struct EvictionSeen {
  std::string what;    // "this step's pod is deleted"
  bool retry_follows;  // another attempt of this step may follow
};
struct JobKept {};      // KeepJob is done, as far as possible
struct JobFollowed {};  // instead of JobFound, or after RemoveJob: another attempt of the step follows the job, which is kept
struct JobSucceededFirst {
  job_types::Judgement judgement;
};  // after RemoveJob: the job succeeded before it was deleted, and is kept
struct PodsListed {};  // after Refresh: the job was sent as JobSeen or JobGone, all existing pods as PodSeen, all others as PodGone
struct ServerTrouble {
  std::string reason;  // empty: it responds again
};
struct Event {
  Time at;
  std::variant<Prepared, MemberStarted, MemberOutput, MemberEnded, BackendFailed, StopRequested, TimerFired, BackendMessage, JobFound, JobSeen,
               JobGone, PodSeen, PodGone, WarningSeen, LogComplete, CancelSeen, EvictionSeen, ServerTrouble, PodsListed, JobKept, PodsHidden,
               JobFollowed, PodWarningSeen, JobSucceededFirst>
      what;
};

// --- actions, to be carried out in this order ---
struct StartMember {
  MemberIndex member;
  int attempt;
};  // the first attempt is 0
struct StopMember {
  MemberIndex member;
  Duration grace;
};  // SIGTERM, after `grace` SIGKILL; MemberEnded follows
struct SetTimer {
  int timer;
  Duration delay;
};  // one timer for each number; a new one replaces it
struct ShowOutput {
  MemberIndex member;
  std::string_view lines;
};  // print with the prefix of the member; valid as long as the event's
struct LogMessage {
  std::string text;
  bool warning = false;
};  // a log line; a warning is about a problem
struct ShowProgress {
  int done;
  int of;
};  // epochs, for ARGO_PROGRESS_FILE and the status line
// --- actions for a cluster ---
struct FollowLog {
  MemberIndex member;
  std::string attempt;  // identifies it among the attempts of this member
  std::string pod;
  std::string container;
  bool previous;  // of the attempt before a restart in place
};
struct EndLog {
  MemberIndex member;
  std::string attempt;
  // Its container is running again: what the server returns as the container's log is that of the next attempt, and the rest of this one is the log
  // of the previous container. May follow an order without it while the rest is still being read.
  bool restarted;
  bool gone = false;  // its pod no longer exists: do not read another one of the same name in its place
};  // its container has ended: read the rest, then LogComplete
struct Refresh {};         // reads the job and all its pods again, now; PodsListed follows
struct WatchPodEvents {};  // from now on, as PodWarningSeen; ordered once
struct RemoveJob {
  // The run is cancelled: delete the job whatever its status, even if another attempt follows it. Otherwise it must be the job that was seen, or it
  // is read again: a job that has succeeded since is left to its Workflow, one that another attempt of the step has adopted to that attempt.
  bool at_once = false;
  // Not requested by a user (a limit, a persistent problem): a job that has succeeded since is not a failure, with a Workflow or without.
  bool unless_succeeded = false;
};  // now: its end is not awaited any more; JobGone, JobFollowed, JobSpared or BackendFailed follows
struct KeepJob {};  // leave it to the next attempt, with a deadline in case none comes; JobKept follows
struct Finish {
  result::Verdict verdict;
};  // nothing more can be seen
using Action = std::variant<StartMember, StopMember, SetTimer, ShowOutput, LogMessage, ShowProgress, FollowLog, EndLog, Refresh, WatchPodEvents,
                            RemoveJob, KeepJob, Finish>;

}  // namespace trainstep::follow
