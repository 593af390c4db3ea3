// SPDX-License-Identifier: Apache-2.0
#include "process/held_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/files.h"

namespace trainstep::process {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_map_size = std::size_t{64} << 20U;
constexpr std::size_t max_fdinfo_size = 64 << 10;

// "7f00-7f01 rw-s 00000000 fe:00 1234    /models/weights" (proc(5), /proc/PID/maps)
void add_mapped(const std::string& line, std::set<std::string>& files) {
  const auto access = line.find(' ') + 1;
  const auto path = line.find('/');
  if (access == 0 || path == std::string::npos || access + 4 > line.size()) return;
  if (line[access + 1] == 'w' && line[access + 3] == 's') files.insert(line.substr(path));
}

// "flags:\t0100001", octal (proc(5), /proc/PID/fdinfo)
bool is_for_writing(const std::string& fdinfo) {
  constexpr std::string_view flags = "flags:";
  const auto at = fdinfo.find(flags);
  if (at == std::string::npos) return false;
  const auto access = std::strtoul(fdinfo.c_str() + at + flags.size(), nullptr, 8) & O_ACCMODE;
  return access == O_WRONLY || access == O_RDWR;
}

// Returns whether the thread has any descriptors: one that has ended shows none, while other threads of its process still do.
bool add_open(const fs::path& thread, std::set<std::string>& files) {
  bool any = false;
  std::error_code code;
  for (fs::directory_iterator fd(thread / "fd", code), end; !code && fd != end; fd.increment(code)) {
    std::error_code gone;
    any = true;
    const auto path = fs::read_symlink(fd->path(), gone);
    if (gone || !path.is_absolute() || files.contains(path.string())) continue;
    const auto fdinfo = read_file(thread / "fdinfo" / fd->path().filename(), max_fdinfo_size);
    if (fdinfo && is_for_writing(*fdinfo)) files.insert(path.string());
  }
  return any;
}

}  // namespace

std::vector<std::string> files_held_for_writing(const std::vector<Process>& processes) {
  std::set<std::string> files;
  for (const auto& process : processes) {
    std::error_code code;
    bool seen = false;  // threads share their descriptors and mappings
    for (fs::directory_iterator thread(fmt::format("/proc/{}/task", process.pid), code), end; !code && !seen && thread != end;
         thread.increment(code)) {
      std::istringstream maps(read_file(thread->path() / "maps", max_map_size).value_or(""));
      for (std::string line; std::getline(maps, line);) add_mapped(line, files);
      seen = add_open(thread->path(), files);
    }
  }
  return {files.begin(), files.end()};
}

std::string first_below(const std::vector<std::string>& files, const fs::path& place) {
  std::error_code code;
  const auto folder = fs::weakly_canonical(place, code);
  const auto below = [&](const fs::path& file) { return lies_in(file, folder); };
  const auto found = code ? files.end() : std::ranges::find_if(files, below);
  return found == files.end() ? "" : *found;
}

}  // namespace trainstep::process
