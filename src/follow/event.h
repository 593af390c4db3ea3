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
#include "job_types/job_type.h"
#include "job_types/pod_view.h"
#include "result/verdict.h"

namespace trainstep::follow {

// Replicas are known by their position in Rules::members.
using MemberIndex = std::size_t;

// How a process or container ended: by exit code, or by a signal.
struct Termination {
  int exit_code = 0;
  std::optional<int> signal;
  std::string reason;                          // "OOMKilled", "Evicted"; empty: nothing known beyond the code
  bool vanished = false;                       // there is no code: its pod was evicted or deleted, its node is lost
  bool disrupted = false;                      // not the program's doing: capacity
  std::optional<result::VerdictClass> told{};  // the agent's own word for it, where it was not the program that failed
  bool repeated = false;                       // it did nothing: by the agent's word the training had finished in an earlier attempt
  [[nodiscard]] bool succeeded() const { return exit_code == 0 && !signal && !vanished; }
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
  std::string_view attempt = {};  // in a cluster: as FollowLog named it
};  // whole lines, each with its newline; valid during handle() only
struct MemberEnded {
  MemberIndex member;
  Termination ending;
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

// --- events of a job in a cluster ---
struct Told {
  std::string text;
  bool warning = false;
};  // the backend's own line of the story: where, as whom, what was created
struct JobFound {
  bool adopted;
  bool backoff_is_kept = false;        // the resource that is served here has a controller that keeps backoffLimit
  std::optional<Time> created = {};    // when it was made, if it was adopted; as all times of pods by the cluster's clock …
  std::optional<Duration> clock = {};  // … which is so much ahead of ours; unset: not known, taken for ours
};  // it exists under our name; `adopted`: an earlier attempt of this step made it
struct JobSeen {
  job_types::Judgement judgement;
};  // what its status says now
struct JobGone {};  // it does not exist any more
struct PodSeen {
  MemberIndex member;
  job_types::PodView pod;
};  // may repeat what is known
struct PodsHidden {
  std::string reason;
};  // the job is seen, its pods may not be
struct PodGone {
  MemberIndex member;
  std::string uid;
};
struct WarningSeen {
  std::string object;  // "pytorchjob/train-1"
  std::string reason;  // "FailedCreate", "ValidationError"
  std::string message;
  std::string version = {};       // of the event object: the same one is told again after every list
  std::optional<Time> last = {};  // when it happened last, by the cluster's clock
};  // a Warning event of this job or of what it is made of, never of another object that has, or had, the name
struct PodWarningSeen {
  MemberIndex member;
  std::string uid;                // of the pod
  std::string reason;             // "FailedMount"
  std::string message;            // of the kubelet, or of the controller that attaches volumes
  std::optional<Time> last = {};  // when it happened last, by our clock, if that was before WatchPodEvents; unset: now
};  // a Warning event of a pod. Some are told once for all: that another node has the volume (attachdetach/reconciler/reconciler.go)
struct LogComplete {
  MemberIndex member;
  std::string attempt;  // as FollowLog named it
  bool whole = true;    // nothing of it is, or may be, missing, as far as its server tells
};  // everything of it that can be had has come as MemberOutput
struct CancelSeen {
  std::string what;  // "the pipeline's run was terminated"
};  // known before, or instead of, a signal
struct EvictionSeen {
  std::string what;    // "this step's pod is deleted"
  bool retry_follows;  // another attempt of this step may come
};
struct JobKept {};      // KeepJob is done, as far as it could be
struct JobFollowed {};  // instead of JobFound, or RemoveJob is done: another attempt of the step follows the job, it stays
struct JobSpared {
  job_types::Judgement judgement;
};  // RemoveJob is done: the job has succeeded before it was deleted, it stays
struct PodsListed {};  // LookAgain is done: the job has come as JobSeen or JobGone, all pods there are as PodSeen, all others as PodGone
struct ServerTrouble {
  std::string reason;  // empty: it answers again
};
struct Event {
  Time at;
  std::variant<Prepared, MemberStarted, MemberOutput, MemberEnded, BackendFailed, StopRequested, TimerFired, Told, JobFound, JobSeen, JobGone,
               PodSeen, PodGone, WarningSeen, LogComplete, CancelSeen, EvictionSeen, ServerTrouble, PodsListed, JobKept, PodsHidden, JobFollowed,
               PodWarningSeen, JobSpared>
      what;
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
  bool warning = false;
};  // a line of the story; a warning tells that something goes wrong
struct ShowProgress {
  int done;
  int of;
};  // epochs, for ARGO_PROGRESS_FILE and the live line
// --- orders for a cluster ---
struct FollowLog {
  MemberIndex member;
  std::string attempt;  // names it among the attempts of this member
  std::string pod;
  std::string container;
  bool previous;  // of the attempt before a restart in place
};
struct EndLog {
  MemberIndex member;
  std::string attempt;
  // Its container runs again already: what the server calls the container's log is the next attempt's, and the rest of this one is the previous
  // container's log. May come after an order without it, while the rest is still being read.
  bool restarted;
  bool gone = false;  // its pod does not exist any more: another of the same name is not to be read in its place
};  // its container has ended: read the rest, then LogComplete
struct LookAgain {};       // at the job and all its pods, now; PodsListed follows
struct WatchPodEvents {};  // from now on, as PodWarningSeen; given once
struct RemoveJob {
  // The run is cancelled: whatever has become of the job meanwhile, and whoever follows it. Else it is the one that was seen, or is looked at again:
  // one that has succeeded since is left to its Workflow, one that another attempt of its step has taken up to that attempt.
  bool at_once = false;
  // What decided is no wish of anybody's (a limit, a lasting lack): a job that has succeeded since is no failure, with a Workflow or without.
  bool unless_succeeded = false;
};  // now: nobody waits for its end any more; JobGone, JobFollowed, JobSpared or BackendFailed follows
struct KeepJob {};  // it is left to the next attempt, and must end if none comes; JobKept follows
struct Finish {
  result::Verdict verdict;
};  // nothing more is to be seen
using Action = std::variant<StartMember, StopMember, SetTimer, ShowOutput, Say, ShowProgress, FollowLog, EndLog, LookAgain, WatchPodEvents, RemoveJob,
                            KeepJob, Finish>;

}  // namespace trainstep::follow
