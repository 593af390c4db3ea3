// A job type is one place: everything that is true of it stands in job_types/<type>.cpp, and a row in job_types.cpp lists it.
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
  std::string_view run_policy{};    // the member of spec that holds activeDeadlineSeconds; empty: spec itself
  bool keeps_backoff_limit = true;  // its controller does not let a job fail more often than that
  bool has_launcher_job = false;    // the launcher's pod belongs to a batch/v1 Job, which belongs to the job
};

// The name of that Job; empty: there is none.
std::string launcher_job(const Resource& resource, const std::string& job_name);

// The replicas of one type.
struct Replicas {
  std::string type;  // canonical: "Master", "Worker", "PS"
  int count = 1;
  plan::Resources resources;
  bool primary = false;   // index 0 of this type is the primary replica: its log is shown, its outputs count
  int awaited = 0;        // the first so many must succeed; then all others are stopped (docs/design/operators.md, Success and failure)
  bool serves = false;    // runs until it is stopped (TF's servers): nobody waits for its end
  bool only = false;      // there is one of it, whatever number_of_workers is
  bool numbered = true;   // "worker-0"; else "launcher"
  bool trains = true;     // has a share in the computation: no launcher, no parameter server
  bool launches = false;  // starts the ranks, which are in the other replicas
  std::string source{};   // the input that sets `count`; empty: number_of_workers
};

// Where the replicas find each other. In a cluster DNS names of pods; locally loopback and free ports.
struct Address {
  std::string host;
  int port = 0;
};
using AddressBook = std::function<Address(const std::string& type, int index)>;

using Variables = std::vector<std::pair<std::string, std::string>>;

// What a job's status says.
struct Judgement {
  enum class State { unknown, pending, suspended, running, restarting, succeeded, failed };
  State state = State::unknown;  // unknown: nobody has written a status yet; succeeded and failed are final
  std::string reason;            // the operator's reason, as it writes it
  std::string message;
};

// A container that the operator puts into pods of its own accord, as it is where nobody has configured the operator.
struct Injected {
  Json init_container;
  std::string remedy;  // what to do where Pod Security refuses it
};

struct JobType {
  plan::JobTypeTraits traits;
  std::vector<std::string_view> replica_types;                // all that replicas() may give
  std::vector<Resource> resources;                            // candidates, best first; discovery picks the one that is served
  std::vector<Replicas> (*replicas)(const plan::Plan& plan);  // exactly one of them is primary
  // The custom resource as `resource` (one of the candidates) wants it, without job_options.patch (job_types/render.h). Errors: input, when the
  // options ask for what this job type cannot do.
  Result<Manifest> (*render)(const plan::Plan& plan, const Resource& resource);
  // The verdict of the object's own status, whose traps are handled here (docs/design/operators.md, Success and failure). Any JSON is allowed.
  Judgement (*judge)(const Json& object);
  // Label selector of the pods of one replica; index < 0: of all of the type; type empty: of the whole job. May match several pods where the operator
  // replaces failed ones: the newest counts.
  std::string (*pods)(const std::string& job_name, const Resource& resource, const std::string& type, int index);
  // What the operator would inject into this replica's container: names, values and order as it writes them (docs/design/operators.md, Environment).
  Variables (*environment)(const plan::Plan& plan, const AddressBook& addresses, const std::string& type, int index);
  // The number of workers and the like, as far as a job's object tells them: for who attaches to it. Any JSON is allowed.
  void (*read_distribution)(const Json& object, plan::Distribution& distribution);
  // What the operator of `resource` would add to the pods of this type; null, or an answer of none: nothing.
  std::optional<Injected> (*injected)(const plan::Plan& plan, const Resource& resource, const std::string& type) = nullptr;
  std::string_view container = "train";      // the name of the program's container in its pods; a patch may give it another
  std::vector<std::string_view> refusals{};  // reasons of the Warning events by which an operator says that it will never run this job
  Variables local_environment{};             // of a local run, where they are not set
  // How many processes of one replica a local run starts itself; null: one.
  int (*local_processes)(const plan::Plan& plan) = nullptr;
  // The command line of a replica in a local run; null: the program's own.
  Words (*local_words)(const plan::Plan& plan, Words program) = nullptr;
};

// The default first.
const std::vector<JobType>& all();
std::vector<plan::JobTypeTraits> traits();
// `name` must be one of theirs.
const JobType& find(std::string_view name);
// An operator's reason for a Warning event means that it will never run the job.
bool is_refusal(std::string_view reason);

// job_options.replicas may only name types that some job type has, .logs only replicas that there are; those that only another job type has are let
// be, as a pipeline's parameter may choose the job type. Error (input): lists those of the plan's job type, or its replicas.
Result<void> check_options(const plan::Plan& plan);

// "worker-1", "ps-0", "master-0"; "launcher" and "main" (Job) of which there is one: how logs, folders and messages name a replica.
std::string replica_name(const plan::Plan& plan, const std::string& type, int index);

}  // namespace trainstep::job_types
