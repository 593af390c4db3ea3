// The placeholders of KFP v1, maps like {inputValue: epochs}, in command and args. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// What a text in such a list is.
enum class Texts {
  literal,  // as it is (v1)
  v2_keys,  // {{$…}} is understood (plain)
};

// The items of command or args; null: none. Understood are inputValue, inputPath, inputUri, outputPath, outputUri, executorInput, concat, if (and the
// SDK 2.x spelling ifPresent); then and else are one item or a list. Errors (input) name the place: "….args[3].if.cond: …".
Result<std::vector<Argument>> read_v1_arguments(const Json& items, const std::string& where, Texts texts);

}  // namespace trainstep::spec
