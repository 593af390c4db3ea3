// The jobs that steps have made, found again by their labels: for people at a shell.
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

// What was found, and which kinds could not be looked at.
struct Found {
  std::vector<Submitted> jobs;  // each once, however many versions of its resource are served
  std::vector<Error> hidden;
  // One sentence for people; empty: everything was seen.
  [[nodiscard]] std::string what_is_hidden() const;
};

// Every job of ours in a namespace, of all kinds that are served there. Error: the first one, when nothing at all could be looked at.
void find_jobs(kube::Client& client, const std::string& name_space, std::function<void(Result<Found>)> done);

// RUN on a command line: a run id or a job's name, which are both letters, digits, dashes, dots and underscores. Error (usage): it cannot be one,
// such as the empty text of a variable that is not set.
Result<void> check_run(std::string_view run);
// The one job of that run, or of that name. Errors: usage (check_run), not_found – or the reason why it may be among the hidden ones –, conflict.
Result<Submitted> choose(Found found, const std::string& run, const std::string& name_space);

// As much of its plan as following it needs: job_type, names, replicas, run policy. Error (input): it is no job of a kind of ours.
Result<plan::Plan> plan_of(const Submitted& job);
// What its step has written on it (job_types::metrics_annotation). Error (input): no such definitions stand there.
Result<std::vector<result::MetricDefinition>> metrics_of(const Submitted& job);
// Its owner, if that is a Workflow.
Facts facts_of(const Submitted& job);

}  // namespace trainstep::cluster
