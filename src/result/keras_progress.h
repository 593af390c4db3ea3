// Reads the line that Keras prints at the end of an epoch. Values within an epoch are not final, so they are not read.
//   45/45 [==============================] - 1s 2ms/step - loss: 0.12 - val_loss: 0.2
//   45/45 ━━━━━━━━━━━━━━━━━━━━ 1s 2ms/step - accuracy: 0.91 - loss: 0.12
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// Returns whether the line has this form.
bool read_keras(std::string_view text, MetricLine& line);

// "44/45 [==>..] - …", but not "05/01 12:00:00 - …". `text` is trimmed.
bool begins_with_count(std::string_view text);

}  // namespace trainstep::result
