// Reads the `inputs` and `outputs` of a v1 component: declarations, typed by how the command line uses them. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

inline const std::string specification = "train_specification";  // the document's name in messages

// Sets the inputs and outputs of a program whose command and args have been read. An input is an artifact if and only if its path or uri is used; for
// outputs see spec::Output. A default makes an input optional; v1 writes defaults as strings, here they are typed.
// Null declares nothing. `implied`: names used in the command line need not be declared (Dialect::plain). Errors (input): "WHERE.inputs[2]: …".
Result<void> read_v1_interface(Program& program, const Json& inputs, const Json& outputs, bool implied, const std::string& where);

}  // namespace trainstep::spec
