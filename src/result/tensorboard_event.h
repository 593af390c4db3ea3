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
    std::string plugin;   // the plugin of the value: "scalars"; the plugin of a tag's first value applies to all of them
    bool tensor = false;  // a scalar only if the plugin is "scalars"; without a tensor it always is
  };
  double wall_time = 0;  // Unix time
  std::int64_t step = 0;
  bool restart = false;       // the program restarted at this step: what it wrote from there on is void (SessionLog.START)
  std::vector<Value> values;  // those that may be scalars: a single number
};

// A larger value is not a scalar and is not read: an image, a histogram, the graph of a model.
inline constexpr std::size_t max_scalar_length = 4096;
// Of one event; further values are dropped.
inline constexpr std::size_t max_values = 10'000;

// Reads the message from `begin` to `end`. None: not an event. A scalar has one of two forms: `simple_value`
// (tensorflow/core/framework/summary.proto), or a tensor of one number (tensor.proto): float, double, an integer, bool, in any of its fields.
std::optional<TensorboardEvent> read_tensorboard_event(const Bytes& bytes, std::uint64_t begin, std::uint64_t end);

}  // namespace trainstep::result
