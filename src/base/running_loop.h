// A loop for linear code: whoever waits for something runs it until that is there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/loop.h"

namespace trainstep {

// Implementations: PollLoop; the simulator's, whose lives may end within run().
class RunningLoop : public Loop {
 public:
  // Runs until stop() is called or nothing is left to wait for. It may be run again; what is due by then is not lost.
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace trainstep
