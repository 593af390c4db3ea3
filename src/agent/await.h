// Linear code over a loop: begin something, run the loop until its answer is there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/running_loop.h"

namespace trainstep::agent {

// `begin` gets the callback for the answer. When the loop is stopped without one (a signal), the error is `cancelled`.
template <typename T>
Result<T> await(RunningLoop& loop, const std::function<void(std::function<void(Result<T>)>)>& begin) {
  std::optional<Result<T>> answer;
  begin([&](Result<T> result) {
    answer.emplace(std::move(result));
    loop.stop();
  });
  if (!answer) loop.run();
  if (!answer) return Error{ErrorKind::cancelled, "stopped by a signal"};
  return std::move(*answer);
}

}  // namespace trainstep::agent
