// Decides how each input and output that is a file or folder gets into and out of the pods (docs/data.md, How files get in and out). Pure.
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

// A volume mounted in the step's own container.
struct ClaimMount {
  std::string claim;  // empty: not a claim
  std::string mount_path;
  std::string sub_path;
  bool read_only = false;
};

// An object store, and the Secret in the job's namespace with its credentials.
struct StoreAccess {
  std::string endpoint;
  std::string region;
  bool path_style = true;
  std::string secret;  // empty: the pods get credentials from their environment (service account, AWS_*)
  std::string access_key_key, secret_key_key;
  std::string signing_keys_key{};  // in place of the secret key (objectstore/signing_keys.h)
  bool operator==(const StoreAccess&) const = default;
};

// A folder of a bucket for files that have no address of their own.
struct JobFolder {
  std::string uri;  // "s3://bucket/folder"
  StoreAccess store;
};

// What is known about the step's environment.
struct DataFacts {
  std::vector<ClaimMount> mounts;
  std::map<std::string, std::string> real_paths;  // by path of the step; only paths that symbolic links resolve to another one
  std::map<std::string, StoreAccess> stores;      // by the address of a step's path
  std::string agent_image;                        // an image that contains Trainstep; empty: unknown
  std::optional<JobFolder> folder = {};
  bool unowned = false;  // nothing would delete the job if its step vanished: it has a Lease
};

// A path of the step that is transferred through the job's prefix: the step's copy, and the one that the pods see.
struct StagedPath {
  std::string name;  // formal name
  std::string path;  // in the step
  TaskPlace at;
};

// What the pods need for data transfer.
struct DataPlan {
  std::string agent_image;            // empty: the pods have no agent, and the program's paths are not handled
  std::vector<StoreAccess> secrets;   // stores whose credentials are mounted: secrets[n] belongs to task.stores[n]
  std::vector<ClaimMount> claims;     // mounted in every pod at these paths
  std::vector<StagedPath> uploads;    // inputs, uploaded by the step before it creates the job
  std::vector<StagedPath> downloads;  // outputs, downloaded by the step after success
  TaskPlace prefix;                   // of this job alone, in a store; removed with the job
  std::string record_in_step;         // the path of the record in the step, if it is on a claim; removed with the job
  Task task;
  bool only_lease = false;  // the agent transfers nothing: it only looks at the Lease
  Placement placement;      // the same in every pod: the agent decides where a path leads
  [[nodiscard]] bool has_agent() const { return !agent_image.empty(); }
};

// The agent's folder in a pod, for its program and files.
inline constexpr std::string_view agent_folder = "/trainstep";

// Sets plan.data, and plan.pvc_name to a claim of the job's own if one is needed to hold the data (Plan::as_train_model_job). Without a known image
// of Trainstep there is no agent, and no path of the step may be used. Errors (input): a path of the step that the pods cannot reach; names the
// parameter and what would help.
Result<void> route_data(Plan& plan, const DataFacts& facts);

// The program gets the address and the keys of the job's folder in variables, as references to its Secret (tensorboard_s3_address).
bool gets_store_variables(const Plan& plan);

// Whether a file of the step, or the checkpoints, would have to be transferred through the job's part of a bucket, but no bucket is known.
bool lacks_folder(Plan plan, DataFacts facts);

}  // namespace trainstep::plan
