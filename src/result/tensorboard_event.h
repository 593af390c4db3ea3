// One event of a TensorBoard log (tensorflow/core/util/event.proto), as far as curves need it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "result/wire_format.h"

namespace trainstep::result {

struct TensorboardEvent {
  struct Value {
    std::string tag;
    double number = 0;
    std::string plugin;   // whose value it is, "scalars": what a tag's first value says counts for all
    bool tensor = false;  // it is a scalar if the plugin is "scalars"; else it is one anyway
  };
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  bool restart = false;       // the program went back to this step: what it had written from there on is void (SessionLog.START)
  std::vector<Value> values;  // those that may be scalars: one number
};

// A value that takes more is no scalar, and is not looked at: an image, a histogram, a model's graph.
inline constexpr std::size_t longest_scalar = 4096;
// Of one event; more are left out.
inline constexpr std::size_t most_values = 10'000;

// The message from `begin` to `end`. None: it is no event. The two forms of a scalar: `simple_value` (tensorflow/core/framework/summary.proto), and a
// tensor of one number (tensor.proto): float, double, an integer, bool, in whichever of its fields.
std::optional<TensorboardEvent> read_tensorboard_event(const Bytes& bytes, std::uint64_t begin, std::uint64_t end);

}  // namespace trainstep::result
