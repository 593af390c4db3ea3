// Parses job_options into JobOptions: all other settings of a job (specs/job_options.schema.json).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "plan/pod_options.h"
#include "plan/quantity.h"
#include "result/metric_patterns.h"

namespace trainstep::plan {

struct RunPolicy {
  std::string restart_policy = "Never";  // Never, OnFailure, ExitCode (training operator), Always
  int backoff_limit = 0;
  std::optional<Duration> active_deadline;
  std::optional<Duration> ttl_after_finished;  // default: a week, except for queued jobs and those that are never cleaned up
  std::string clean_pod_policy = "Running";
  bool suspend = false;
  Duration stop_grace{30'000};  // between SIGTERM and SIGKILL
  bool ttl_is_default = false;
};

// Unset: no limit (beyond the defaults of docs/cluster.md, What pending and failing mean).
struct Limits {
  std::optional<Duration> queued, scheduling, starting, running, finishing, total;
};

struct JobOptions {
  std::string component;  // the executor to use from the specification
  PodOptions all;
  std::map<std::string, PodOptions> replicas;  // by replica type: only the differences
  std::vector<std::string> pass_environment;   // more variables of the step to pass on; "NAME" or "PREFIX*"
  std::string gpu_resource = "nvidia.com/gpu";
  std::string queue;                      // Kueue LocalQueue
  Json gang;                              // null: none; object: schedulingPolicy of the operators
  std::optional<Quantity> shared_memory;  // /dev/shm; unset: depends on the number of processes; value 0: none
  RunPolicy run_policy;
  Limits limits;
  std::vector<std::string> logs;                  // "all", "primary", "none", or names of replicas; empty: primary in a cluster, all locally
  std::vector<result::MetricDefinition> metrics;  // read from the primary's log in addition to the metrics of docs/metrics.md; validated
  std::string cleanup = "default";                // default (docs/cluster.md, What happens), always, on_success, never
  std::string reattach = "always";                // always, unfinished, never: which job of an earlier attempt is adopted
  std::string checkpoint_dir;                     // in the pods; what the program saves there is kept for its next attempt; empty: nothing is kept
  std::optional<bool> single_node;                // all pods on one node; unset: if a claim requires it; false: not even then
  std::string agent_image;                        // an image that contains Trainstep, for the init container of the pods; empty: the step's own
  std::optional<Duration> lease;                  // how long a job without an owner outlives its step; unset: the default; 0: for ever
  std::string on_eviction = "default";            // default (docs/cluster.md, Cancel and eviction), keep, delete
  Json patch;                                     // null: none; object: RFC 7396 merge patch; list: RFC 6902 patch, on the rendered manifest
};

// Durations: seconds as a number, or "90s", "10m", "2h", "1h30m". Errors: input, "job_options.run_policy.backoff_limit: …"; for unknown keys the
// nearest known one is named.
Result<JobOptions> parse_options(const Json& options);

// The effective options of one replica type: `all`, overlaid by `replicas.<type>` (objects are merged, lists appended, scalars replaced).
PodOptions options_for(const JobOptions& options, const std::string& replica_type);

}  // namespace trainstep::plan
