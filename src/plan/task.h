// The agent's part of the plan: what is fetched into a training pod, where the program's outputs go, who may do it. Written by the step, read by
// `trainstep exec` of the same version, as JSON in a variable. Pure.
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

// The container's variable with the task; programs do not see it.
inline constexpr std::string_view task_variable = "TRAINSTEP_TASK";

// An object store as a pod sees it. Without key files the keys are those of the pod's environment (AWS_*, web identity, container credentials).
struct TaskStore {
  std::string endpoint;  // "http://seaweedfs.kubeflow:9000"
  std::string region = "us-east-1";
  bool path_style = true;
  std::string ca_file;  // PEM; empty: the system's certificates
  std::string access_key_file, secret_key_file;
};

// A place that outlives the pod: in a store, or a path of a claim that the pod has mounted. Neither: none.
struct TaskPlace {
  std::string uri;  // "s3://bucket/key"
  std::size_t store = 0;
  std::string path;
  [[nodiscard]] bool in_store() const { return !uri.empty(); }
  [[nodiscard]] bool somewhere() const { return in_store() || !path.empty(); }
};

struct TaskInput {
  std::string name;  // formal
  std::string path;  // where the program finds it
  TaskPlace from;    // in a store; what lies on a claim needs no fetching and does not stand here
};

struct TaskOutput {
  std::string name;       // formal
  spec::Type type{};      // artifact, or the value's type
  std::string declared;   // "system.Model"
  std::string path;       // where the program writes it
  std::string folder_is;  // the primary's folder of `path` is a link to this one, on a claim; empty: it is a folder of the pod
  TaskPlace to;           // in a store; none: it stays at `path` (on a claim), or is a value, which goes into the record
};

// In the primary's pod: where it appears on its claim.
std::filesystem::path place_on_claim(const TaskOutput& output);

// A folder of the pod that is kept at a place while the program runs.
struct TaskCheckpoints {
  std::string path;  // empty: there are none
  TaskPlace to;      // in a store
};

struct Task {
  std::string job;      // its name
  std::string attempt;  // tells this job from an earlier one of its name: a record of another attempt does not count
  std::vector<TaskStore> stores;
  std::vector<TaskInput> inputs;
  std::vector<TaskOutput> outputs;
  std::string executor_output_file;
  TaskCheckpoints checkpoints;
  TaskPlace record;                     // where the record of a finished training lies; none: it is not kept
  Duration finishing_limit{1'800'000};  // the delivery of outputs is tried for so long
};

Json to_json(const Task& task);
// Errors: input. What it does not know is let be.
Result<Task> read_task(const Json& task);

}  // namespace trainstep::plan
