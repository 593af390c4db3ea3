// SPDX-License-Identifier: Apache-2.0
#include "process/mapped_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>
#include <system_error>

#include "base/files.h"

namespace trainstep::process {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_map = std::size_t{64} << 20U;

// "7f00-7f01 rw-s 00000000 fe:00 1234    /models/weights" (proc(5), /proc/PID/maps)
void add_mapped(const std::string& line, std::set<std::string>& files) {
  const auto access = line.find(' ') + 1;
  const auto path = line.find('/');
  if (access == 0 || path == std::string::npos || access + 4 > line.size()) return;
  if (line[access + 1] == 'w' && line[access + 3] == 's') files.insert(line.substr(path));
}

}  // namespace

std::vector<std::string> files_mapped_for_writing(const std::vector<Process>& processes) {
  std::set<std::string> files;
  for (const auto& process : processes) {
    std::istringstream maps(read_file(fmt::format("/proc/{}/maps", process.pid), largest_map).value_or(""));
    for (std::string line; std::getline(maps, line);) add_mapped(line, files);
  }
  return {files.begin(), files.end()};
}

std::string first_below(const std::vector<std::string>& files, const fs::path& place) {
  std::error_code code;
  const auto folder = fs::weakly_canonical(place, code);
  const auto below = [&](const fs::path& file) {
    return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
  };
  const auto found = code ? files.end() : std::ranges::find_if(files, below);
  return found == files.end() ? "" : *found;
}

}  // namespace trainstep::process
