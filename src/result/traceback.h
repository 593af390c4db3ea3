// Why a Python program died, found in its log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainstep::result {

struct Traceback {
  std::string error;               // the line that counts: "ValueError: shapes do not match"
  std::vector<std::string> lines;  // the whole block, chained exceptions included, without rank prefixes
};

// The last traceback in the tail of a log (lines without newlines, oldest first). Chains ("During handling of the above exception, …", "The above
// exception was the direct cause …") are one block whose last exception counts. Prefixes that launchers put before each line ("[rank0]: ",
// "[1,0]<stderr>:", "[default0]:") are taken off, and lines of other ranks between those of one are left out. A SyntaxError, which Python prints
// without the word Traceback, is found too. A block whose head was cut off by the tail's limit is found by its indented "File …, line …".
std::optional<Traceback> find_traceback(std::span<const std::string> tail);

}  // namespace trainstep::result
