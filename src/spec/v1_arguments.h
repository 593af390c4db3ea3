// The placeholders of KFP v1, maps like {inputValue: epochs}, in command and args. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// How to interpret a string in such a list.
enum class Texts {
  literal,  // unchanged (v1)
  v2_keys,  // with {{$…}} placeholders (plain)
};

// The items of command or args; null: none. Supported: inputValue, inputPath, inputUri, outputPath, outputUri, executorInput, concat, if (and
// ifPresent, the spelling of SDK 2.x); then and else are one item or a list. Errors (input) name the location: "….args[3].if.cond: …".
Result<std::vector<Argument>> read_v1_arguments(const Json& items, const std::string& where, Texts texts);

}  // namespace trainstep::spec
