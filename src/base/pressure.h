// Back-pressure on the producers of the log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trainstep {

enum class Pressure {
  none,    // no limit
  full,    // the reader is slower than the producers: those that can wait must wait
  stalled  // the reader has also taken nothing for some seconds: producers that cannot wait any longer continue, and their lines may be dropped
};

}  // namespace trainstep
