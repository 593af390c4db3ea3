// The prefix that launchers put before each line of a rank's output.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace trainstep::result {

struct PrefixedLine {
  std::string_view prefix;  // empty: none
  std::string_view text;
};

// "[rank0]: " (torch), "[default0]:" (torchrun's tee), "[1,0]<stderr>:" (mpirun --tag-output), "[1]: ".
inline PrefixedLine split_rank_prefix(std::string_view line) {
  if (!line.starts_with('[')) return {{}, line};
  const auto bracket = line.substr(0, 30).find(']');
  if (bracket == std::string_view::npos) return {{}, line};
  auto inside = line.substr(1, bracket - 1);
  for (const std::string_view word : {"rank", "default"})
    if (inside.starts_with(word)) inside.remove_prefix(word.size());
  const bool numbered = !inside.empty() && std::ranges::all_of(inside, [](char c) { return (c >= '0' && c <= '9') || c == ','; });
  if (!numbered) return {{}, line};
  auto end = bracket + 1;
  for (const std::string_view stream : {"<stdout>", "<stderr>", "<stddiag>"})
    if (line.substr(end).starts_with(stream)) end += stream.size();
  if (end == line.size() || line[end] != ':') return {{}, line};
  ++end;
  const bool tagged_by_mpirun = line[end - 2] == '>';  // which adds no blank
  if (!tagged_by_mpirun && end < line.size() && line[end] == ' ') ++end;
  return {line.substr(0, end), line.substr(end)};
}

}  // namespace trainstep::result
