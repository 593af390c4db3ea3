// The Plan: everything that is decided before any action. Job types render it, backends execute it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/binding.h"
#include "plan/command.h"
#include "plan/data.h"
#include "plan/distribution.h"
#include "plan/options.h"
#include "plan/request.h"
#include "spec/program.h"

namespace trainstep::plan {

// A value and the input that set it ("distribution_specification.worker_cpus", "cpus", "default"): for `render --explain`.
template <typename T>
struct Sourced {
  T value{};
  std::string source;
};

// The resources requested for one replica; limits equal requests.
struct Resources {
  std::optional<Sourced<Quantity>> cpus;
  std::optional<Sourced<Quantity>> memory;
  Sourced<int> gpus;  // 0: none
};

// The nodes on which the pods may run, in addition to job_options.affinity.
struct Nodes {
  std::string node;       // all pods on this one; empty: any
  bool together = false;  // all pods on the same node
  std::string source;     // "claim data (ReadWriteOnce)", "job_options.single_node"
  std::string apart{};    // like `source`: why the pods should be together, although job_options.affinity says which pods are
  std::string absent{};   // the name of a claim that does not exist, without which no pod starts
};

// What messages and `render --explain` call the source of a variable of Request::environment.
inline constexpr std::string_view passed_on_source = "environment of the step";

struct EnvironmentVariable {
  std::string name;
  Json value;  // string, or the object forms of PodOptions::environment
  std::string source;
  std::optional<spec::Argument> path{};  // the value is this path of the program, which each replica's Placement determines; `value` is its name
};

struct Plan {
  std::string job_type;  // Distribution::type, canonical
  std::string job_name;  // DNS-1035 label, short enough for every suffix added by an operator
  std::string run_id;    // 1 … 63 of [a-z0-9-]
  bool model_name_is_default = false;
  bool fresh_run = false;  // the ID is random: no other process can have created a job of this run
  std::string spec_hash;   // of what identifies the job; excludes the step's image and presigned addresses
  std::string name_space;  // empty: unknown
  Distribution distribution;
  JobOptions options;
  spec::Program program;
  Binding binding;
  Sourced<std::string> image;  // may be empty only for a local run
  Resources worker, launcher, parameter_server, chief;
  int processes_per_worker = 1;
  int slots_per_worker = 1;
  std::string train_mount;
  std::string pvc_name;  // empty: none
  std::string pvc_size;
  bool claim_is_jobs = false;       // the claim belongs to this job alone, and is removed with it
  bool as_train_model_job = false;  // Request::as_train_model_job
  bool launches_ranks = false;      // JobTypeTraits::launches_ranks
  Json node_selector = Json::object();
  Nodes nodes;
  // For all replicas, in order: program, passed on (none that is a path of the program), tensorboard, job_options.environment.
  std::vector<EnvironmentVariable> environment;
  std::vector<std::pair<std::string, std::string>> labels;  // of job and pods
  DataPlan data;                                            // set by route_data(); without it pods get no files of the step
};

// Creates the Plan of a Request. `types`: the available ones (job_types::traits()). Errors: input, each one sentence with location and remedy.
Result<Plan> make_plan(const Request& request, const std::vector<JobTypeTraits>& types);

// Paths in a pod: as routed in plan.data; without an agent, inputs and outputs below train_mount, and if `primary` is false, outputs in a private
// folder that is not collected.
Placement pod_placement(const Plan& plan, bool primary);

// The program starts its own ranks: its first argument is torchrun, mpirun, mpiexec, horovodrun, accelerate, deepspeed, or `python -m
// torch.distributed.run`.
bool starts_own_ranks(const spec::Program& program);

}  // namespace trainstep::plan
