// Linear code over a loop: start an operation, run the loop until its result arrives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/running_loop.h"

namespace trainstep::agent {

// `begin` gets the callback for the result. If the loop is stopped without one (by a signal), the error is `cancelled`; a result that arrives later
// is discarded.
template <typename T>
Result<T> await(RunningLoop& loop, const std::function<void(std::function<void(Result<T>)>)>& begin) {
  struct Waiting {
    std::optional<Result<T>> answer;
    bool over = false;
  };
  const auto waiting = std::make_shared<Waiting>();
  begin([waiting, &loop](Result<T> result) {
    if (waiting->over) return;
    waiting->answer.emplace(std::move(result));
    loop.stop();
  });
  if (!waiting->answer) loop.run();
  waiting->over = true;
  if (!waiting->answer) return Error{ErrorKind::cancelled, "stopped by a signal"};
  return std::move(*waiting->answer);
}

// Processes what is due on the loop, such as a signal, without waiting.
inline void process_pending(RunningLoop& loop) {
  loop.post([&loop] { loop.post([&loop] { loop.stop(); }); });  // between the two it polls its descriptors and timers
  loop.run();
}

}  // namespace trainstep::agent
