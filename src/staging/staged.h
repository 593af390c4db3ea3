// What a transfer of inputs or outputs reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace trainstep::staging {

struct Staged {
  std::int64_t bytes = 0;  // of the contents transferred
  std::size_t files = 0;
  Duration took{};
  std::size_t equal = 0;  // files that were there already
};

struct StagingSink {
  std::function<void(const std::string& line)> log;  // progress messages
  std::function<void(Result<Staged>)> done;          // once, from the loop
};

// "12 files, 1.5 GB in 3.1 s", "1 file, 5 B in 0.1 s, 11 were there already"
std::string describe(const Staged& staged);
// "1.5 GB"
std::string describe_bytes(std::int64_t bytes);

}  // namespace trainstep::staging
