// What the tests of this module share: context without a machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "step/inputs.h"
#include "support/catch.h"

namespace trainstep::step {

// Files that exist only in the test.
inline FileReader files(std::map<std::string, std::string> contents) {
  return [contents = std::move(contents)](const std::string& path, std::size_t limit) -> Result<std::string> {
    const auto found = contents.find(path);
    if (found == contents.end()) return Error{ErrorKind::not_found, "cannot read " + path + ": No such file or directory"};
    if (found->second.size() > limit) return input_error(path + " is larger than " + std::to_string(limit) + " bytes");
    return found->second;
  };
}

inline Context empty_context() { return {.environment = {}, .read_file = files({})}; }

inline Inputs read(const Flags& flags, const Context& context = empty_context()) {
  auto inputs = read_inputs(flags, context);
  if (!inputs) FAIL(inputs.error().message);
  return *inputs;
}

inline Error refused(const Flags& flags, const Context& context = empty_context()) {
  const auto inputs = read_inputs(flags, context);
  REQUIRE_FALSE(inputs.has_value());
  return inputs.error();
}

// A v2 step as a 2.15+ launcher starts it. `parameters` and `extra_outputs` are JSON text.
inline std::string executor_input(const std::string& parameters, const std::string& attempt = "0") {
  const std::string folder = "mlpipeline/v2/artifacts/digits/run-1/train/0e2c";
  return R"({"inputs": {"parameterValues": )" + parameters + R"(,
    "artifacts": {"train_dataset_dir": {"artifacts": [{"name": "17", "uri": "minio://mlpipeline/data/train", "type": {"schemaTitle": "system.Dataset"},
                                                       "metadata": {"rows": 7}}]}}},
    "outputs": {"parameters": {"job_name": {"outputFile": "/tmp/kfp/outputs/job_name"}, "results": {"outputFile": "/tmp/kfp/outputs/results"}},
      "artifacts": {"model_dir": {"artifacts": [{"name": "model_dir", "type": {"schemaTitle": "system.Model"}, "uri": "minio://)" +
         folder + R"(/model_dir", "metadata": {}}]},
        "metrics": {"artifacts": [{"uri": "minio://)" +
         folder + R"(/metrics", "type": {"schemaTitle": "system.Metrics"}}]},
        "report": {"artifacts": [{"uri": "minio://)" +
         folder + R"(/report", "type": {"schemaTitle": "system.HTML"}}]},
        "executor-logs": {"artifacts": [{"uri": "minio://)" +
         folder + "/executor-logs-" + attempt + R"("}]}},
      "outputFile": "/minio/)" +
         folder + R"(/output_metadata.json"}})";
}

}  // namespace trainstep::step
