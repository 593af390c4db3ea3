// The definition of a job type: everything specific to it is in job_types/<type>.cpp, and a row in job_types.cpp lists it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "job_types/launch.h"
#include "job_types/manifest.h"
#include "plan/plan.h"

namespace trainstep::job_types {

// A resource of the Kubernetes API.
struct Resource {
  std::string_view group_version;   // "kubeflow.org/v2beta1", "batch/v1"
  std::string_view kind;            // "MPIJob"
  std::string_view plural;          // "mpijobs"
  std::string_view run_policy{};    // the member of spec that contains activeDeadlineSeconds; empty: spec itself
  bool keeps_backoff_limit = true;  // its controller never lets a job fail more often than backoffLimit
  bool has_launcher_job = false;    // the launcher's pod belongs to a batch/v1 Job, which belongs to the job
};

// The name of that Job; empty if there is none.
std::string launcher_job(const Resource& resource, const std::string& job_name);

// The replicas of one type.
struct Replicas {
  std::string type;  // canonical: "Master", "Worker", "PS"
  int count = 1;
  plan::Resources resources;
  bool primary = false;   // index 0 of this type is the primary replica: its log is shown, its outputs are collected
  int awaited = 0;        // the first `awaited` replicas must succeed; then all others are stopped (docs/design/operators.md, Success and failure)
  bool serves = false;    // runs until it is stopped (TF's servers): its end is not awaited
  bool only = false;      // there is exactly one, independent of number_of_workers
  bool numbered = true;   // "worker-0"; else "launcher"
  bool trains = true;     // takes part in the computation: not a launcher or parameter server
  bool launches = false;  // starts the ranks, which run in the other replicas
  std::string source{};   // the input that sets `count`; empty: number_of_workers
};

// The addresses by which replicas find each other: DNS names of pods in a cluster, loopback and free ports locally.
struct Address {
  std::string host;
  int port = 0;
};
using AddressBook = std::function<Address(const std::string& type, int index)>;

using Variables = std::vector<std::pair<std::string, std::string>>;

// The state of a job according to its status.
struct Judgement {
  enum class State { unknown, pending, suspended, running, restarting, succeeded, failed };
  State state = State::unknown;  // unknown: there is no status yet; succeeded and failed are final
  std::string reason;            // the operator's reason, unchanged
  std::string message;
};

// A container that the operator itself adds to pods, in its default configuration.
struct InjectedContainer {
  Json init_container;
  std::string remedy;  // what to do if Pod Security rejects it
};

struct JobType {
  plan::JobTypeTraits traits;
  std::vector<std::string_view> replica_types;                // all types that replicas() may return
  std::vector<Resource> resources;                            // candidates in order of preference; discovery picks the one that is served
  std::vector<Replicas> (*replicas)(const plan::Plan& plan);  // exactly one of them is primary
  // The custom resource for `resource` (one of the candidates), without job_options.patch (job_types/render.h). Errors: input, if the options are not
  // supported by this job type.
  Result<Manifest> (*render)(const plan::Plan& plan, const Resource& resource);
  // Judges the object's own status, and handles its pitfalls (docs/design/operators.md, Success and failure). Accepts any JSON.
  Judgement (*judge)(const Json& object);
  // Label selector of the pods of one replica; index < 0: of all replicas of the type; empty type: of the whole job. May match several pods if the
  // operator replaces failed ones: the newest is the current one.
  std::string (*pods)(const std::string& job_name, const Resource& resource, const std::string& type, int index);
  // The variables that the operator would inject into this replica's container: with its names, values and order (docs/design/operators.md,
  // Environment).
  Variables (*environment)(const plan::Plan& plan, const AddressBook& addresses, const std::string& type, int index);
  // Reads the number of workers and other settings from a job's object, as far as it contains them: for attaching to a job. Accepts any JSON.
  void (*read_distribution)(const Json& object, plan::Distribution& distribution);
  // The container that the operator of `resource` would add to pods of this type; none if null, or if it returns nullopt.
  std::optional<InjectedContainer> (*injected)(const plan::Plan& plan, const Resource& resource, const std::string& type) = nullptr;
  // What the operator of `resource` creates for a job besides its pods: {"services", 3}, {"jobs.batch", 1} (docs/design/operators.md, Objects).
  // Nothing if null.
  std::vector<std::pair<std::string_view, int>> (*operator_objects)(const plan::Plan& plan, const Resource& resource) = nullptr;
  std::string_view container = "train";      // the name of the program's container in its pods; a patch may change it
  std::vector<std::string_view> refusals{};  // reasons of Warning events with which an operator reports that it will never run this job
  Variables local_environment{};             // defaults for a local run
  // How many processes of one replica a local run starts; null: one.
  int (*local_processes)(const plan::Plan& plan) = nullptr;
  // The command line of a replica in a local run; null: the program's own.
  Arguments (*local_arguments)(const plan::Plan& plan, Arguments program) = nullptr;
};

// The default is first.
const std::vector<JobType>& all();
std::vector<plan::JobTypeTraits> traits();
// `name` must be the name of a job type.
const JobType& find(std::string_view name);
// Whether this reason of an operator's Warning event means that it will never run the job.
bool is_refusal(std::string_view reason);

// Checks that job_options.replicas names only types of this job, as it is sized, and job_options.logs only existing replicas; there those that only
// another job type has are accepted, because the job type may come from a pipeline parameter. Error (input): lists the types of the job, or its
// replicas.
Result<void> check_options(const plan::Plan& plan);
// Those of job_options.logs.
std::vector<std::string> logs_of_other_types(const plan::Plan& plan);

// "worker-1", "ps-0", "master-0"; "launcher" and "main" (Job), of which there is only one: the name of a replica in logs, folders and messages.
std::string replica_name(const Replicas& replicas, int index);
// "1 Master, 3 Worker": how many replicas of each type the job has.
std::string replica_counts(const plan::Plan& plan);

}  // namespace trainstep::job_types
