// What a state machine has to know of a job before it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/options.h"
#include "result/metric_patterns.h"

namespace trainstep::follow {

// A replica, or one of its ranks.
struct Member {
  std::string name;         // "worker-1"
  bool primary = false;     // its log is read for metrics and progress
  bool awaited = false;     // the job succeeds when all awaited members have succeeded
  bool serves = false;      // runs until it is stopped; its end by our signal is not a failure
  bool started = true;      // started by an action of ours; false: another member starts it (mpirun its ranks) and only its output is seen
  std::string container{};  // of its pods, in which the program runs; empty for local processes
};

struct Rules {
  std::vector<Member> members;
  plan::RunPolicy policy;
  plan::Limits limits;
  std::vector<result::MetricDefinition> metrics;  // given by the user; a pattern that cannot be compiled matches nothing
  std::vector<std::string> logs = {"all"};        // whose output is shown: "all", "primary", "none", or names of members
  Duration failure_grace{5'000};                  // the longest grace once another member has failed: there is nothing left to save
  Duration linger{10'000};                        // how long members that are not awaited may continue after success before they are stopped
  Duration heartbeat{600'000};                    // a log line after this long without output
};

// The primary is a rank started by another member (a local mpirun), whose own lines then belong to it.
bool rank_inside(const Rules& rules);

// Policy, limits and metrics of the job's options. The operators' own deadline is enforced here as well, as a limit for running if it is the shorter
// one: local runs have no operator, and training-operator v1 checks it only when something else happens (its common.ReconcileJobs).
void take_options(Rules& rules, const plan::JobOptions& options);

// The option that sets a limit for a phase, "running" or "total": "job_options.limits.running", "job_options.run_policy.active_deadline".
std::string limit_option(const Rules& rules, std::string_view phase);

}  // namespace trainstep::follow
