// The program's own step, as the world runs it: everything but the command line, real sockets and files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "sim/world.h"

namespace trainstep::sim {

std::unique_ptr<Step> real_step(const Context& surroundings);
// `trainstep attach`, as the command line wires it.
std::unique_ptr<Step> real_visitor(const Context& surroundings);

}  // namespace trainstep::sim
