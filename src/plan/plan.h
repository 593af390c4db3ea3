// The Plan: everything that is decided before anything is done. Job types render it, backends carry it out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
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

// What one replica asks for; limits equal requests.
struct Resources {
  std::optional<Sourced<Quantity>> cpus;
  std::optional<Sourced<Quantity>> memory;
  Sourced<int> gpus;  // 0: none
};

// On which of its nodes the cluster may run the pods, beside what job_options.affinity says.
struct Nodes {
  std::string node;       // all on this one; empty: on any
  bool together = false;  // all on the same one
  std::string source;     // "claim data (ReadWriteOnce)", "job_options.single_node"
};

struct EnvironmentVariable {
  std::string name;
  Json value;  // text, or the object forms of PodOptions::environment
  std::string source;
};

struct Plan {
  std::string job_type;    // Distribution::type, canonical
  std::string job_name;    // DNS-1035 label, short enough for every suffix an operator adds
  std::string run_id;      // 1 … 63 of [a-z0-9-]
  bool fresh_run = false;  // the id is random: nobody but this process can have made a job of this run
  std::string spec_hash;   // over what makes this job this job; not the step's image nor presigned addresses
  std::string name_space;  // empty: not known
  Distribution distribution;
  JobOptions options;
  spec::Program program;
  Binding binding;
  Sourced<std::string> image;  // may be empty for a local run only
  Resources worker, launcher, parameter_server, chief;
  int processes_per_worker = 1;
  int slots_per_worker = 1;
  std::string train_mount;
  std::string pvc_name;  // empty: none
  std::string pvc_size;
  bool claim_is_jobs = false;       // pvc_name is of this job alone, and goes with it
  bool as_train_model_job = false;  // Request::as_train_model_job
  bool launches_ranks = false;      // JobTypeTraits::launches_ranks
  Json node_selector = Json::object();
  Nodes nodes;
  std::vector<EnvironmentVariable> environment;             // for every replica, in order: program, passed on, tensorboard, job_options.environment
  std::vector<std::pair<std::string, std::string>> labels;  // of job and pods
  DataPlan data;                                            // route_data() decides; without it pods get no files of the step
};

// Request → Plan. `types`: those that exist (job_types::traits()). Errors: input, each one sentence with place and remedy.
Result<Plan> make_plan(const Request& request, const std::vector<JobTypeTraits>& types);

// In a pod: as the data's ways lead; without an agent inputs and outputs below train_mount, with `primary` false outputs in a private folder that
// nobody collects.
Placement pod_placement(const Plan& plan, bool primary);

// The program already starts its own ranks: its first word is torchrun, mpirun, mpiexec, horovodrun, accelerate, deepspeed, or `python -m
// torch.distributed.run`.
bool starts_own_ranks(const spec::Program& program);

}  // namespace trainstep::plan
