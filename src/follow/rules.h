// What the state machine has to know of a job before it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/options.h"
#include "result/metric_patterns.h"

namespace trainstep::follow {

// A replica, or one rank of it.
struct Member {
  std::string name;         // "worker-1"
  bool primary = false;     // its log is read for metrics and progress
  bool awaited = false;     // the job succeeds when all awaited members have
  bool serves = false;      // runs until it is stopped; its end by our signal is no failure
  bool started = true;      // by an order of ours; false: another member starts it (mpirun its ranks) and only its output is seen
  std::string container{};  // of its pods, in which the program runs; empty for local processes
};

struct Rules {
  std::vector<Member> members;
  plan::RunPolicy policy;
  plan::Limits limits;
  std::vector<result::MetricDefinition> metrics;  // of the user; what cannot be compiled finds nothing
  std::vector<std::string> logs = {"all"};        // whose output is shown: "all", "primary", "none", or names of members
  Duration failure_grace{5'000};                  // at most so long a grace once another member has failed: there is nothing left to save
  Duration linger{10'000};                        // how long members that are not awaited may go on after success before they are stopped
  Duration heartbeat{600'000};                    // a line of the story after so long a silence
};

// Policy, limits and metrics of the job's options. The operators' own deadline is kept here, too, as a limit for running where it is the shorter one:
// local runs have no operator, and that of training-operator v1 looks at it only when something else happens (its common.ReconcileJobs).
void take_options(Rules& rules, const plan::JobOptions& options);

// The option that a limit for a phase, "running" or "total", comes from: "job_options.limits.running", "job_options.run_policy.active_deadline".
std::string limit_option(const Rules& rules, std::string_view phase);

}  // namespace trainstep::follow
