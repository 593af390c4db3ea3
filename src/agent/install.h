// Puts this program where the pod's other containers find it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"

namespace trainstep::agent {

// Copies it to `target`, which may exist as a regular file; anything else there is an error and stays. Errors: input, denied, internal; nothing of
// the copy is then left.
Result<void> install(const std::filesystem::path& target);

}  // namespace trainstep::agent
