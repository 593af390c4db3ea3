// The placeholders of KFP v2: {{$…}} keys in strings, IfPresent and Concat as JSON strings (reference: the SDK's dsl/placeholders.py). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// Parses one element of command or args. Supported: {{$}}, {{$.inputs.parameters['x']}}, {{$.inputs.artifacts['x'].path|uri}},
// {{$.outputs.parameters['x'].output_file}}, {{$.outputs.artifacts['x'].path|uri}}, {{$.outputs.output_file}}, {"IfPresent": …} and {"Concat": …}.
// Keys inside a longer string become a concat. Other {{…}} stay unchanged, as with KFP's launcher, except unsupported keys of inputs, outputs and
// pipeline_*, which would never be filled in: those are input errors. `where` names the element in messages.
Result<Argument> read_v2_text(const std::string& text, const std::string& where);

// Whether the text contains {{$…}}: a value known only to a KFP backend.
bool has_v2_key(const std::string& text);
// The same for any string in it.
bool holds_v2_key(const Json& json);

}  // namespace trainstep::spec
