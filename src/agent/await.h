// Linear code over a loop: begin something, run the loop until its answer is there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/running_loop.h"

namespace trainstep::agent {

// `begin` gets the callback for the answer. When the loop is stopped without one (a signal), the error is `cancelled`; an answer that comes later is
// nobody's.
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

// Lets the loop do what is due by now – a signal may have come –, and waits for nothing.
inline void hear(RunningLoop& loop) {
  loop.post([&loop] { loop.post([&loop] { loop.stop(); }); });  // between the two it looks at its descriptors and timers
  loop.run();
}

}  // namespace trainstep::agent
