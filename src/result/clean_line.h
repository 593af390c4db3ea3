// Strips from a line of a log what its writer did not print: redrawn versions, colors, prefixes of launchers and of Python's logging.
//   "\rEpoch 1 loss 0.9\rEpoch 1 loss 0.5"       → "Epoch 1 loss 0.5"
//   "[rank0]: INFO:root:loss 0.5"                → "INFO:root:loss 0.5" → "loss 0.5"
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::result {

// Strips redrawn versions, colors and the rank prefix (rank_prefix.h). The result may point into `storage`.
std::string_view clean_line(std::string_view line, std::string& storage);

// Strips "INFO:root:", the prefix of Python's logging.basicConfig.
std::string_view without_level(std::string_view text);

// Strips "[host:00007] ", a prefix of Open MPI; the number is a process ID.
std::string_view without_process(std::string_view text);

}  // namespace trainstep::result
