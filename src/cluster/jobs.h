// The jobs that steps have made, found again by their labels: for people at a shell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "cluster/submit.h"
#include "kube/client.h"

namespace trainstep::cluster {

// Every job of ours in a namespace, of all kinds that are served there; `run`: a run id or a job's name, empty: all. Errors: denied, unavailable.
void find_jobs(kube::Client& client, const std::string& name_space, const std::string& run, std::function<void(Result<std::vector<Submitted>>)> done);

// As much of its plan as following it needs: kind, names, replicas, run policy. Error (input): it is no job of a kind of ours.
Result<plan::Plan> plan_of(const Submitted& job);
// Its owner, if that is a Workflow.
Facts facts_of(const Submitted& job);

}  // namespace trainstep::cluster
