// `trainstep run`, on this machine or in a cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cli/recorder.h"
#include "cli/step_command.h"
#include "cluster/facts.h"

namespace trainstep::cli {

// The recorder for --record; null if it is not given.
Result<std::unique_ptr<Recorder>> recorder_for(const StepCommand& command, const step::Inputs& inputs);

// The plan of a step whose identity is given by the folder of its outputs, or by its Workflow and its node in it: the same for all its attempts.
// Errors: input.
Result<plan::Plan> plan_in_cluster(plan::Request request, const cluster::Facts& facts, const std::string& name_space);

// What can be checked of a step in a cluster without a server: that its inputs are there, its outputs can be written, and the logs that are wanted
// can be followed. `plan`: as known without a cluster. Errors: usage, input.
Result<void> check_step(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan);

// report(), and the same in the container's termination message.
int fail(const StepCommand& command, const Error& error);

// Both return the exit code. `plan`: as known without a cluster.
int run_locally(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan);
int run_in_cluster(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan);

}  // namespace trainstep::cli
