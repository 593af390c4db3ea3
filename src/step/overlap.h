// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "plan/request.h"

namespace trainstep::step {

// Checks that the step's own paths do not overlap, as plan::check_no_overlap() does, with links resolved. Devices (/dev/null) may be named more than
// once.
Result<void> check_no_overlap(const plan::Request& request);

}  // namespace trainstep::step
