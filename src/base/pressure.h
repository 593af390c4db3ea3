// Whether those who produce the log may go on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trainstep {

enum class Pressure {
  none,    // as much as comes
  full,    // its reader is slower than what comes: whoever can wait is to wait
  stalled  // and has taken nothing for some seconds: what cannot wait any longer goes on, and its lines may be left out
};

}  // namespace trainstep
