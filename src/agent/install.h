// Puts this program where the pod's other containers find it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"

namespace trainstep::agent {

// Copies it to `target`. Errors: denied, internal.
Result<void> install(const std::filesystem::path& target);

}  // namespace trainstep::agent
