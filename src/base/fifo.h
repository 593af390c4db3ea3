// Reads from pipes that have a name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace trainstep {

// Reads a FIFO or pipe, opened with O_NONBLOCK, to its end, at most `limit` bytes; `path` is used in messages. Error (input): no program has opened
// it for writing within `wait`. A program that has may take any time to write.
Result<std::string> read_fifo(int fd, const std::filesystem::path& path, std::size_t limit, std::chrono::milliseconds wait);

}  // namespace trainstep
