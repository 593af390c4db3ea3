// The placeholders of KFP v2: {{$…}} keys in texts, IfPresent and Concat as JSON texts (reference: the SDK's dsl/placeholders.py). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// One element of command or args. Understood are {{$}}, {{$.inputs.parameters['x']}}, {{$.inputs.artifacts['x'].path|uri}},
// {{$.outputs.parameters['x'].output_file}}, {{$.outputs.artifacts['x'].path|uri}}, {{$.outputs.output_file}}, {"IfPresent": …} and {"Concat": …}.
// Keys inside a longer text become a concat. Other {{…}} stay as they are, as with KFP's launcher, except keys of inputs, outputs and pipeline_*,
// which nobody would fill in: those are input errors. `where` names the element in messages.
Result<Argument> read_v2_text(const std::string& text, const std::string& where);

// {{$…}} stands in the text: a value that only a KFP backend knows.
bool has_v2_key(const std::string& text);

}  // namespace trainstep::spec
