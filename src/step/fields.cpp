// The names of the interface. The rows are those of specs/interface.json: tools/make_component.py writes them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "step/inputs.h"

namespace trainstep::step {

const std::vector<Field>& input_fields() {
  using enum Field::Shape;
  static const std::vector<Field> fields{
      {"train_dataset_dir", path, "folder or file with the training data"},
      {"validation_dataset_dir", path, "folder or file with the validation data"},
      {"train_specification", specification, "the training program: text of a KFP component (v1 or v2), or image and command"},
      {"train_parameters", object, "program parameter → value, or name of one of the step's paths"},
      {"train_mount", text, "where data is mounted in the training pods (/train)"},
      {"model_name", text, "part of the job's name (my-model)"},
      {"base_image", text, "image of the training pods, overriding the specification's own"},
      {"node_selector", selector, "labels of the nodes to train on: lines of key: \"value\", or JSON"},
      {"pvc_name", text, "claim with the data of the training pods"},
      {"pvc_size", text, "size of a claim created for the job (10Gi)"},
      {"cpus", text, "CPUs of each replica: 8, 500m"},
      {"gpus", text, "GPUs of each replica"},
      {"memory", text, "memory of each replica: 32Gi"},
      {"tensorboard_s3_address", text, "TENSORBOARD_S3_ADDRESS of the training program"},
      {"cluster_configuration_secret", text, "Secret that names another cluster and its object store"},
      {"distribution_specification", object, "how the training is distributed: distribution_type, number_of_workers, …"},
      {"job_options", object, "everything else: environment, volumes, limits per phase, …"},
      {"task_config", object, "filled in by KFP: resources, volumes, tolerations, … set on the task"},
  };
  return fields;
}

const std::vector<Field>& output_fields() {
  using enum Field::Shape;
  static const std::vector<Field> fields{
      {"model_dir", path, "where the program leaves its model: file or folder; in a cluster also an address, s3://bucket/model"},
      {"metrics", path, "file for the final metrics: a JSON object, name → number"},
      {"results", path, "file for everything the program returned: a JSON object, by name"},
      {"report", path, "file for the report: an HTML page"},
      {"job_name", path, "file for the job's name"},
      {"mlpipeline_metrics", path, "file for the metrics as KFP v1 shows them"},
      {"mlpipeline_ui_metadata", path, "file for the report as KFP v1 shows it"},
  };
  return fields;
}

std::string flag_name(const Field& field) {
  if (field.name == "job_name") return "job-name-file";
  std::string name(field.name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace trainstep::step
