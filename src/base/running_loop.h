// A loop for linear code, which calls run() whenever it has to wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/loop.h"

namespace trainstep {

// Implementations: PollLoop; the simulator's, whose simulated process may be killed within run().
class RunningLoop : public Loop {
 public:
  // Runs until stop() is called or nothing is left to wait for. It can be called again; events that are due by then are not lost.
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace trainstep
