// How each input and output that is a file or folder gets into pods and out of them (docs/data.md, How files get in and out). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/command.h"
#include "plan/task.h"

namespace trainstep::plan {

struct Plan;

// A volume that the step's own container has mounted.
struct ClaimMount {
  std::string claim;  // empty: it is none
  std::string mount_path;
  std::string sub_path;
  bool read_only = false;
};

// An object store, and the Secret of the job's namespace that holds its keys.
struct StoreAccess {
  std::string endpoint;
  std::string region;
  bool path_style = true;
  std::string secret;  // empty: the pods find keys in their environment (service account, AWS_*)
  std::string access_key_key, secret_key_key;
  bool operator==(const StoreAccess&) const = default;
};

// A folder of a bucket that steps may use for what has no address of its own.
struct JobFolder {
  std::string uri;  // "s3://bucket/folder"
  StoreAccess store;
};

// What is known of the surroundings.
struct DataFacts {
  std::vector<ClaimMount> mounts;
  std::map<std::string, std::string> real_paths;  // by a step's path, where links on it lead somewhere else
  std::map<std::string, StoreAccess> stores;      // by the address of a step's path
  std::string agent_image;                        // an image that holds this program; empty: none is known
  std::optional<JobFolder> folder = {};
};

// A path of the step that goes through the job's prefix: the step's copy, and the one that the pods see.
struct StagedPath {
  std::string name;  // formal
  std::string path;  // of the step
  TaskPlace at;
};

// What the pods need for it.
struct DataPlan {
  std::string agent_image;            // empty: pods have no agent, the program's paths are its own affair
  std::vector<StoreAccess> secrets;   // whose keys are mounted: secrets[n] belongs to task.stores[n]
  std::vector<ClaimMount> claims;     // to be mounted in every pod at these paths
  std::vector<StagedPath> uploads;    // inputs, by the step before there is a job
  std::vector<StagedPath> downloads;  // outputs, by the step after its success
  TaskPlace prefix;                   // of this job alone, in a store; it is removed with the job
  std::string record_in_step;         // where the step finds the record, when it lies on a claim; it is removed with the job
  Task task;
  Placement placement;  // the same in every pod: the agent decides where a path leads
  [[nodiscard]] bool has_agent() const { return !agent_image.empty(); }
};

// In a pod: where the agent is, and what belongs to it.
inline constexpr std::string_view agent_folder = "/trainstep";

// Decides plan.data, and makes a claim of the job's own plan.pvc_name where one is to hold them (Plan::as_train_model_job). Without a known image of
// this program there is no agent: then no path of the step may be asked for. Errors (input): a path of the step that no way leads to; names the
// parameter and what would help.
Result<void> route_data(Plan& plan, const DataFacts& facts);

// Whether a file of the step, or the checkpoints, would go through the job's part of a bucket, and no bucket is known.
bool lacks_folder(Plan plan, DataFacts facts);

}  // namespace trainstep::plan
