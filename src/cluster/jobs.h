// Finds the jobs that steps have created by their labels, for people at a shell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/facts.h"
#include "cluster/submit.h"
#include "kube/client.h"

namespace trainstep::cluster {

// What was found, and which resources could not be read.
struct Found {
  std::vector<Submitted> jobs;  // each once, however many versions of its resource are served
  std::vector<Error> hidden;
  // A sentence for people; empty: everything was seen.
  [[nodiscard]] std::string what_is_hidden() const;
};

// All jobs of ours in a namespace, of all job types that are served there. Error: the first one, if nothing at all could be read.
void find_jobs(kube::Client& client, const std::string& name_space, std::function<void(Result<Found>)> done);

// RUN on a command line: a run id or the name of a job, which are both letters, digits, dashes, dots and underscores, also with its resource,
// "pytorchjobs/train-1". Error (usage): it cannot be one, for example the empty value of an unset variable.
Result<void> check_run(std::string_view run);
// The only job of that run, or of that name. Errors: usage (check_run), not_found – or the reason why it may be among the hidden ones –, conflict.
Result<Submitted> choose(Found found, const std::string& run, const std::string& name_space);

// The part of its plan that is needed to follow it: job_type, names, replicas, run policy. Error (input): it is not a job of a known type.
Result<plan::Plan> plan_of(const Submitted& job);
// The definitions that its step has written to it (job_types::metrics_annotation). Error (input): they are invalid.
Result<std::vector<result::MetricDefinition>> metrics_of(const Submitted& job);
// Its owner, if that is a Workflow.
Facts facts_of(const Submitted& job);

}  // namespace trainstep::cluster
