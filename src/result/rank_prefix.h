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

// The size of Ray's prefix, "(RayTrainWorker pid=123, ip=10.0.0.1) "; 0: none.
inline std::size_t ray_prefix(std::string_view line) {
  const auto end = line.starts_with('(') ? line.substr(0, 120).find(") ") : std::string_view::npos;
  if (end == std::string_view::npos) return 0;
  const auto inside = line.substr(0, end);
  const auto pid = inside.find("pid=");
  const bool named = pid != std::string_view::npos && (pid == 1 || inside[pid - 1] == ' ');
  return named && inside.substr(pid + 4, 1).find_first_of("0123456789") == 0 && inside.find('=') == pid + 3 ? end + 2 : 0;
}

// "[rank0]: " (torch), "[default0]:" (torchrun's tee), "[1,0]<stderr>:" (mpirun --tag-output), "[1]: ", Ray's.
inline PrefixedLine split_rank_prefix(std::string_view line) {
  if (const auto size = ray_prefix(line); size != 0) return {line.substr(0, size), line.substr(size)};
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
  const bool tagged_by_mpirun = line[end - 2] == '>';  // which adds no space
  if (!tagged_by_mpirun && end < line.size() && line[end] == ' ') ++end;
  return {line.substr(0, end), line.substr(end)};
}

}  // namespace trainstep::result
