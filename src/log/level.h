// Log levels: --log-level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep::log {

// Each level includes those after it in this list. The verdict is shown at every level.
enum class Level {
  debug,    // every request, every decision and its reason
  info,     // progress messages and the replicas' output
  warning,  // problems
  error     // what ended the run
};

enum class Format { text, json };

struct Options {
  Format format = Format::text;
  Level level = Level::info;
  std::vector<std::string> secrets = {};  // strings to redact in our own lines
};

// "debug", "info", "warning", "error", case-insensitive; nullopt: any other word.
std::optional<Level> level_of(std::string_view word);

}  // namespace trainstep::log
