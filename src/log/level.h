// How much the log tells: --log-level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep::log {

// Each level shows what those below it in this list show, too. The verdict is shown at every level.
enum class Level {
  debug,    // every request, every decision and its reason
  info,     // the story and the replicas' output
  warning,  // what went wrong
  error     // what ended the run
};

enum class Format { text, json };

struct Options {
  Format format = Format::text;
  Level level = Level::info;
  std::vector<std::string> secrets = {};  // texts that must not stand in lines of ours
};

// "debug", "info", "warning", "error", in any case of letters; none: it is no such word.
std::optional<Level> level_of(std::string_view word);

}  // namespace trainstep::log
