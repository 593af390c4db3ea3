// python:3.7, which the KFP SDK 1.8 writes into the component of a function that has no image. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"

namespace trainstep::step {

// A sentence with a remedy, if a program that is to run in it imports something that is neither in Python's standard library nor installed by the
// program itself.
std::optional<std::string> default_image(const plan::Plan& plan);

}  // namespace trainstep::step
