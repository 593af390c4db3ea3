// SPDX-License-Identifier: Apache-2.0
#include "base/links.h"

#include <unistd.h>

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace trainstep {

namespace fs = std::filesystem;

namespace {

constexpr int max_links = 40;

std::optional<int> descriptor_in(const fs::path& path) {
  const auto folder = path.parent_path().string();
  const auto name = path.filename().string();
  if (folder != "/dev/fd" && folder != "/proc/self/fd" && folder != "/proc/thread-self/fd" && folder != "/proc/" + std::to_string(::getpid()) + "/fd")
    return std::nullopt;
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && end == name.data() + name.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

// Stops at a path in a descriptor folder: the target of that link is not a name but the open file.
std::optional<int> named_descriptor(fs::path path) {
  std::error_code code;
  if (auto whole = fs::absolute(path, code); !code) path = std::move(whole);
  for (int i = 0; i < max_links; ++i) {
    path = path.lexically_normal();
    if (const auto number = descriptor_in(path)) return number;
    if (!fs::is_symlink(path, code)) return std::nullopt;
    path = path.parent_path() / fs::read_symlink(path, code);
  }
  return std::nullopt;
}

fs::path followed(fs::path path) {
  std::error_code code;
  if (auto whole = fs::absolute(path, code); !code) path = std::move(whole);
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  for (int i = 0; i < max_links && fs::is_symlink(path, code); ++i) path = (path.parent_path() / fs::read_symlink(path, code)).lexically_normal();
  return path;
}

}  // namespace trainstep
