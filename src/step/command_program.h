// The program of `trainstep run -- COMMAND ARG…`, as a train_specification. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"

namespace trainstep::step {

// In a word, {NAME} with the name of one of the step's paths that a program can have (train_dataset_dir, validation_dataset_dir, model_dir, metrics)
// becomes the program's path for it, and {{NAME}} becomes {NAME}. Everything else stays unchanged: JSON, f-strings, ${NAME} of a shell. The program
// also gets these paths as variables, TRAINSTEP_MODEL_DIR and so on, those that `request` has or a word names; they are its inputs and outputs.
// Errors (usage): no words, a {NAME} that resembles one of the names ({model_dri}, {model-dir}, { model_dir }), a word that is not UTF-8,
// train_specification or train_parameters in `request`.
Result<std::string> specification_of(const std::vector<std::string>& words, const plan::Request& request);

}  // namespace trainstep::step
