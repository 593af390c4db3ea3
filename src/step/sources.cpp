// SPDX-License-Identifier: Apache-2.0
#include "step/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace trainstep::step {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// /proc/self, /proc/thread-self, and the descriptors of any process (proc(5)).
bool is_of_a_process(const fs::path& place) {
  auto part = place.begin();
  const auto next = [&] { return part == place.end() ? std::string() : (part++)->string(); };
  if (next() != "/" || next() != "proc") return false;
  const auto whose = next();
  if (whose == "self" || whose == "thread-self") return true;
  const auto what = next();
  return is_number(whose) && (what == "fd" || what == "task");
}

// Whether any component of the path, with all links followed, is such a place; the resolved path does not show this.
bool leads_through_a_process(const fs::path& path) {
  constexpr int max_links = 40;
  std::error_code code;
  const auto whole = fs::absolute(path, code);
  if (code) return false;
  std::deque<fs::path> way(whole.begin(), whole.end());
  fs::path at;
  for (int links = 0; !way.empty() && links < max_links;) {
    const auto part = way.front();
    way.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    const auto next = at / part;
    if (is_of_a_process(next)) return true;
    if (!fs::is_symlink(next, code)) {
      at = next;
      continue;
    }
    const auto target = fs::read_symlink(next, code);
    if (code) return false;
    way.insert(way.begin(), target.begin(), target.end());  // an absolute target starts with "/", which restarts the walk
    ++links;
  }
  return false;
}

std::string_view sort_of(const fs::file_status& status) {
  if (fs::is_fifo(status)) return "a FIFO";
  if (fs::is_socket(status)) return "a socket";
  return fs::is_character_file(status) || fs::is_block_file(status) ? "a device" : "";
}

}  // namespace

Result<void> check_sources(const std::vector<plan::StepPath>& inputs) {
  for (const auto& input : inputs) {
    if (input.path.empty()) continue;
    if (leads_through_a_process(input.path))
      return input_error(
          fmt::format("{}: {} is a stream or folder of this process, which the program cannot access; write its contents to a file, and pass that",
                      input.name, input.path));
    std::error_code ignored;
    if (const auto sort = sort_of(fs::status(input.path, ignored)); !sort.empty())
      return input_error(
          fmt::format("{}: {} is {}, expected a file or folder; write its contents to a file, and pass that", input.name, input.path, sort));
  }
  return {};
}

}  // namespace trainstep::step
