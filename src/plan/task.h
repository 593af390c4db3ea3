// The agent's part of the plan: what is fetched into a training pod, where the program's outputs go, and the credentials for it. Written by the step,
// read by `trainstep exec` of the same version, as JSON in a variable. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "spec/program.h"

namespace trainstep::plan {

// The container's variable that holds the task; not passed to programs.
inline constexpr std::string_view task_variable = "TRAINSTEP_TASK";

// An object store as seen by a pod. Without key files, credentials come from the pod's environment (AWS_*, web identity, container credentials).
struct TaskStore {
  std::string endpoint;  // "http://seaweedfs.kubeflow:9000"
  std::string region = "us-east-1";
  bool path_style = true;
  std::string ca_file;  // PEM; empty: the system's certificates
  std::string access_key_file, secret_key_file;
  std::string signing_keys_file{};  // in place of the secret key (objectstore/signing_keys.h)
};

// A location that outlives the pod: in a store, or a path on a claim mounted in the pod. If both are empty: none.
struct TaskPlace {
  std::string uri;  // "s3://bucket/key"
  std::size_t store = 0;
  std::string path;
  [[nodiscard]] bool in_store() const { return !uri.empty(); }
  [[nodiscard]] bool somewhere() const { return in_store() || !path.empty(); }
};

struct TaskInput {
  std::string name;  // formal name
  std::string path;  // where the program finds it
  TaskPlace from;    // in a store; inputs on a claim need no fetching and are not listed here
};

struct TaskOutput {
  std::string name;       // formal name
  spec::Type type{};      // artifact, or the type of the value
  std::string declared;   // "system.Model"
  std::string path;       // where the program writes it
  std::string folder_is;  // in the primary, the folder of `path` is a symbolic link to this one, on a claim; empty: it is a folder of the pod
  TaskPlace to;           // in a store; none: it stays at `path` (on a claim), or is a value, which goes into the record
  bool file = false;      // the step expects a file (is_shared_file()): a folder is not delivered
};

// In the primary's pod: its final path on the claim.
std::filesystem::path place_on_claim(const TaskOutput& output);

// A folder of the pod that is saved to a location while the program runs.
struct TaskCheckpoints {
  std::string path;  // empty: none
  TaskPlace to;      // in a store
};

// The Lease with the name of the job, which shows that a step follows it (docs/adr/0036). Read by the agent, renewed by the step.
struct TaskLease {
  Duration length{0};      // 0: there is none
  Duration grace{30'000};  // between SIGTERM and SIGKILL of a program that nobody follows
  TaskPlace inputs{};      // what the step has put into a store for this job alone, and nobody would remove; none: nothing
  bool expected = false;   // the step may create it: if there is none, the step was lost before it could, and it counts from the start of the pod
  [[nodiscard]] bool wanted() const { return length > Duration(0); }
  // How often it is read, and renewed: a sixth of its length, within limits.
  [[nodiscard]] Duration interval() const;
};
inline constexpr Duration shortest_lease{180'000};  // six times the shortest interval

struct Task {
  std::string job;      // its name
  std::string attempt;  // distinguishes this job from an earlier one of the same name: the record of another attempt is ignored
  std::vector<TaskStore> stores;
  std::vector<TaskInput> inputs;
  std::vector<TaskOutput> outputs;
  std::string executor_output_file;
  TaskCheckpoints checkpoints;
  TaskLease lease;
  TaskPlace record;                     // location of the record of a finished training; none: no record is kept
  Duration finishing_limit{1'800'000};  // how long the delivery of outputs is retried
};

// The task as passed to the agent in TRAINSTEP_TASK.
Json to_json(const Task& task);
// Errors: input. Unknown members are ignored.
Result<Task> read_task(const Json& task);

}  // namespace trainstep::plan
