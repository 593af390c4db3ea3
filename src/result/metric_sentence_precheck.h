// Whether a line is worth reading by metric_sentence.h, which costs much more. From each number it looks back for the word of a metric.
//   loss 0.5                  yes
//   listening on port: 8080   no
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

// Whether there may be a value after a word that names a metric. False for nearly all lines of a log; never for one that read_sentence() reads alone.
bool may_be_sentence(std::string_view line);

}  // namespace trainstep::result
