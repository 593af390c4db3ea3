// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "plan/request.h"

namespace trainstep::step {

// Whether the step's own paths lie apart, as plan::check_apart(); links are followed. Devices (/dev/null) may be named more than once.
Result<void> check_apart(const plan::Request& request);

}  // namespace trainstep::step
