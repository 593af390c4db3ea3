// Finds in a Python program's log why it failed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainstep::result {

struct Traceback {
  std::string error;               // the line with the exception: "ValueError: shapes do not match"
  std::vector<std::string> lines;  // the complete block, including chained exceptions, without rank prefixes
};

// The last traceback in the tail of a log (lines without newlines, oldest first). Chained exceptions ("During handling of the above exception, …",
// "The above exception was the direct cause …") form one block; `error` is the last exception. Prefixes that launchers put before each line
// ("[rank0]: ", "[1,0]<stderr>:", "[default0]:") are stripped, and interleaved lines of other ranks are skipped. A SyntaxError, which Python prints
// without the word Traceback, is also found. A block whose first lines were cut off by the tail's limit is recognized by its indented "File …, line
// …".
std::optional<Traceback> find_traceback(std::span<const std::string> tail);

}  // namespace trainstep::result
