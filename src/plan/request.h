// What a step is asked to do: all inputs of the interface, read but not yet interpreted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep::plan {

// A path of the step that a path parameter of the program can name: train_dataset_dir, validation_dataset_dir; model_dir, metrics, ….
struct StepPath {
  std::string name;
  std::string path;  // local path in the step; may be empty for an input known only by its uri
  std::string uri;   // KFP v2 artifact uri; empty outside KFP v2
  std::string type;  // KFP v2 schema title ("system.Model"); empty if unknown
  Json metadata = Json::object();
};

// Whether it is a file to which both the program and the step write.
inline bool is_shared_file(std::string_view step_path) {
  return step_path == "metrics" || step_path == "mlpipeline_metrics" || step_path == "mlpipeline_ui_metadata";
}

// What messages and `render --explain` call the program of `trainstep run -- COMMAND`.
inline constexpr std::string_view command_source = "command after --";

struct Request {
  std::string train_specification;         // YAML or JSON text
  bool is_command = false;                 // it is the command after -- on the command line
  Json train_parameters = Json::object();  // formal name → value, or name of a StepPath
  Json distribution_specification = Json::object();
  Json job_options = Json::object();
  std::vector<StepPath> inputs;   // only those that were given
  std::vector<StepPath> outputs;  // requested by the step's caller
  std::string train_mount = "/train";
  std::string model_name = "my-model";
  std::string base_image;               // empty: the specification's own image
  Json node_selector = Json::object();  // label → value
  std::string pvc_name;
  std::string pvc_size = "10Gi";
  std::string cpus, memory, gpus;  // Kubernetes quantities; empty: not given
  std::string tensorboard_s3_address;
  std::vector<std::string> cluster_configuration_secrets;  // in the order of preference
  bool as_train_model_job = false;    // inputs that are not given have the defaults of the component of that name (step/train_model_job.h)
  std::string run_id;                 // empty: derived from `identity`, else random
  std::string identity;               // the same for all attempts of one step (docs/cluster.md, What happens); empty outside a workflow
  std::string name_space;             // Kubernetes namespace; empty: unknown (omitted by render)
  Json environment = Json::object();  // variables of the step's own environment passed on by default (proxies, CA, pip index, MLFLOW_*)
};

}  // namespace trainstep::plan
