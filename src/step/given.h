// The values as given by flags or executor input, before they are merged. Private to the module.
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
  std::map<std::string, Json, std::less<>> values;  // by the name of the input; strings if they come from flags. Also run_id and namespace
  std::vector<plan::StepPath> inputs;               // KFP v2 artifacts
  std::vector<OutputTarget> targets;
  std::string executor_output_file;
  std::string identity;
  bool resolved = false;  // references to parameters of the pipeline have been replaced
};

// An address instead of a path: "s3://bucket/key".
inline bool looks_like_address(std::string_view text) { return text.find("://") != std::string_view::npos; }

// `executor-input` must have been removed from the flags.
Result<Given> given_by_flags(const Flags& flags, const std::vector<std::string>& other_flags);

// `executor_input`: the ExecutorInput of KFP v2 (camelCase JSON written by the launcher).
Result<Given> given_by_executor_input(const Json& executor_input);

// The path at which the launcher puts an artifact with this address, which may itself be a path (kfp.local); empty: none.
std::string local_path(std::string_view uri);

}  // namespace trainstep::step
