// What a seed draws: which job, what becomes of it and of the step, and what goes wrong around them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cluster.h"
#include "sim/network.h"
#include "sim/oddities.h"

namespace trainstep::sim {

// What becomes of the training.
enum class Script {
  succeeds,
  user_error,  // `victim` ends with `exit_code`, all others hang or fail later
  out_of_memory,
  restarts,           // `victim` fails once and is restarted
  backoff_exhausted,  // … fails every time
  image_pull,
  invalid_image,
  config_missing,  // a Secret that does not exist, as a variable or a volume
  unschedulable_a_while,
  unschedulable,  // with a limit
  quota_a_while,
  operator_absent,
  webhook_denies,
  webhook_down_a_while,
  evicted,  // `victim`, with restart policy Never
  node_lost,
  hangs,      // with a limit on running
  suspended,  // at first, as a queue does it; resumed later
  preempted,  // suspended while it runs, resumed later
  deleted_by_somebody,
  stranger,            // the name is used by another run's job
  pull_fails_a_while,  // a registry that is overloaded, a runtime that does not answer in time, a volume on another node
  operator_restarts,   // no controller handles the job in its first minutes
  pod_vanishes,        // `victim`, once: its end is never seen
};
inline constexpr int scripts = 24;
std::string_view name(Script script);

// What becomes of the step's process.
enum class StepScript {
  lives,
  killed,     // SIGKILL before or after its `kill_at`th call; started again
  cancelled,  // the pipeline's run is terminated
  evicted,    // its pod is deleted; whether another one follows is the retry policy's affair
  stopped,    // Ctrl-C at a shell, and again when nothing comes of it
  outlived,   // its pod is lost to its node, another attempt begins, and the process lives on for a while
};
std::string_view name(StepScript script);

// What becomes of the first create, which does what was asked.
enum class FirstCreate {
  answered,
  lost,       // the connection breaks
  swallowed,  // nothing comes back
  gateway,    // a proxy in front answers 504
  late,       // the connection breaks, and only then the server writes
};

// How a cancel and its signals come.
enum class Cancel {
  labelled,       // the Workflow and the pod are labelled as completed a second before the first signal
  labelled_late,  // … after it
  workflow_deleted,
  pod_deleted,  // it is asked for, and the step's pod is deleted before the controller has labelled anything
};

// What a cancel writes into the Workflow.
enum class Shutdown {
  terminate,
  stop,
  deadline,  // activeDeadlineSeconds 0, as Kubeflow Pipelines does
};

// What the step can find out about its own pod.
enum class OwnPod {
  known,
  cut,         // its name is longer than a host name can be
  unreadable,  // no right to read it: what its template gives it must do
};

// A party that is away for a while, from `at` (after the world's begin) on.
struct MissingPod {
  enum class Party { controllers, kubelet, api_server };
  Party party = Party::controllers;
  Duration at, length;
};

// A user who attaches to the run with limited permissions.
struct Visit {
  Duration at;                           // after the job's creation
  Duration looks_for;                    // then Ctrl-C
  std::vector<std::string> denied = {};  // "list pods", as ApiServer::deny() has it
};

struct Scenario {
  std::uint64_t seed = 0;
  std::string kind = "Job";  // distribution_type
  Installed installed;
  int workers = 1;
  Script script = Script::succeeds;
  StepScript step_script = StepScript::lives;
  std::string victim;  // a replica, as job_types::replica_name has it
  std::string primary;
  int exit_code = 1;
  bool workflow = true;                // the step belongs to one
  bool calm = false;                   // nothing goes wrong but the fates
  Json distribution = Json::object();  // distribution_specification
  Json options = Json::object();       // job_options
  Faults faults;
  Oddities odd;
  std::vector<MissingPod> absences;
  Duration length{60'000};    // of the training
  Duration acts_at{20'000};   // after the job's creation: when the deletion, suspension, cancel or eviction happens
  Duration acts_for{60'000};  // how long a suspension, a quota, … lasts
  int kill_at = 0;            // the step's call, 0: never
  int act_at_call = 0;        // cancelled, evicted, stopped: at this call; 0: at `acts_at`
  Duration cut_off{0};        // outlived: so long its node is without a network
  int cancel_next_at = 0;     // the life after the first is cancelled at this call of its own; 0: never
  Cancel cancel = Cancel::labelled;
  Shutdown shutdown = Shutdown::terminate;
  FirstCreate first_create = FirstCreate::answered;
  bool no_second = false;  // a quota or a webhook refuses every other job of this name, and thereby repeated creates of the existing one
  OwnPod own_pod = OwnPod::known;
  std::string retry_policy = "Always";                     // of the step's template; "": no retry strategy
  bool followed = true;                                    // evicted: another attempt comes
  Accident keeping = Accident::none;                       // evicted: what becomes of each PATCH of the job from then on
  bool by_kubelet = false;                                 // evicted: the kubelet ends the pod, it is not deleted
  Duration cause_lag{0};                                   // evicted: the cause is to be seen so long after the signal
  Duration workflow_lag{0};                                // what happens to the Workflow is watched so much later
  bool kill_after = false;                                 // when the server has done it; else before it is sent
  Duration skew{0};                                        // the step's clock against the cluster's
  std::vector<std::pair<Duration, Duration>> clock_jumps;  // when, by how much
  Duration token_life{3'600'000};
  bool token_kept = false;                 // the step reads its token again only when it is refused
  Duration death{300};                     // SIGTERM → SIGKILL
  std::vector<Duration> kills;             // SIGKILL so long after the job's creation
  bool namesake = false;                   // of a deleted job of this name events are still there
  bool sidecars = false;                   // a webhook gives each pod a second container, whose name comes first; it ends after the program
  std::vector<std::string> clusters = {};  // the Secrets of other clusters, in the order of preference; the rest of a scenario knows none
  std::optional<Visit> visit;
  [[nodiscard]] std::string describe() const;
};

// What a test wants; what is unset is drawn.
struct ScenarioOverrides {
  std::optional<std::string> kind = {};
  std::optional<bool> mpi_v2beta1 = {};
  std::optional<Script> script = {};
  std::optional<StepScript> step_script = {};
  std::optional<bool> calm = {};
  std::optional<std::pair<int, bool>> kill = {};  // call, after its effect
  std::optional<Duration> length = {};            // of the training
  std::optional<Duration> token_life = {};        // the step reads its token again only when it is refused
  std::optional<std::pair<int, int>> act = {};    // cancelled, evicted, stopped: at this call; and the next life cancelled at that one; 0: not
  std::optional<FirstCreate> first_create = {};
  std::optional<Cancel> cancel = {};
  bool simple = false;               // no first create, own pod, quota, cause or policy that makes it hard
  std::optional<bool> visited = {};  // a user attaches
  std::optional<Oddities> odd = {};
};

Scenario draw_scenario(std::uint64_t seed, const ScenarioOverrides& overrides);

// What becomes of one attempt of one replica.
PodScript pod_script(const Scenario& scenario, Random& random, const PodIdentity& who);

}  // namespace trainstep::sim
