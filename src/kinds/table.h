// The rows of kinds.cpp: one function for each kind, in its own place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kinds/kind.h"

namespace trainstep::kinds {

Kind job();
Kind pytorch();
Kind mpi();
Kind tf();

}  // namespace trainstep::kinds
