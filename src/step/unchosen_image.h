// python:3.7, which the KFP SDK 1.8 writes into a function's component when it is not told an image. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"

namespace trainstep::step {

// A sentence with the remedy, where a program is to run in it that imports what it does not have: neither of Python's own library nor of what the
// program installs by itself.
std::optional<std::string> unchosen_image(const plan::Plan& plan);

}  // namespace trainstep::step
