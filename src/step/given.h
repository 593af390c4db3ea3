// What was given, before the two ways in (flags, executor input) are one. Private to the module.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "step/inputs.h"

namespace trainstep::step {

struct Given {
  std::map<std::string, Json, std::less<>> values;  // by the input's name; from flags always text. Besides the interface's: run_id, namespace
  std::vector<plan::StepPath> inputs;               // KFP v2 artifacts
  std::vector<OutputTarget> targets;
  std::string executor_output_file;
  std::string identity;
  bool resolved = false;  // what refers to a pipeline's parameters has been replaced
};

// A text that is no path, but where something lies: "s3://bucket/key".
inline bool is_address(std::string_view text) { return text.find("://") != std::string_view::npos; }

// `executor-input` must be out of the way already.
Result<Given> given_by_flags(const Flags& flags);

// `executor_input`: the ExecutorInput of KFP v2 (camelCase JSON of the launcher).
Result<Given> given_by_executor_input(const Json& executor_input);

// Where the launcher puts an artifact with this address, which may be a path itself (kfp.local); empty: nowhere.
std::string local_path(std::string_view uri);

}  // namespace trainstep::step
