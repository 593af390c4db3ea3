// SPDX-License-Identifier: Apache-2.0
#include "base/mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/files.h"

namespace trainstep {
namespace {

constexpr std::size_t max_info_size = 65536;

// "mnt_id:\t29" in proc_pid_fdinfo(5), the same number as statx(2) returns.
std::optional<std::uint64_t> told_by_proc(int fd) {
  const auto text = read_file(fmt::format("/proc/self/fdinfo/{}", fd), max_info_size);
  constexpr std::string_view key = "mnt_id:\t";
  const auto at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto* begin = text->data() + at + key.size();
  const auto parsed = std::from_chars(begin, text->data() + text->size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

Mount mount_of(int fd) {
  struct statx found{};
  const bool known = ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &found) == 0;
  if (known && (found.stx_mask & STATX_MNT_ID) != 0) return {false, found.stx_mnt_id};  // Linux 5.8
  if (const auto number = told_by_proc(fd)) return {false, *number};
  struct stat plain{};
  return {true, ::fstat(fd, &plain) == 0 ? static_cast<std::uint64_t>(plain.st_dev) : 0};
}

bool is_mount(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto real = std::filesystem::canonical(path, unknown);
  const Fd self(::open(real.c_str(), O_PATH | O_CLOEXEC)), above(::open(real.parent_path().c_str(), O_PATH | O_CLOEXEC));
  return self && above && mount_of(self.get()) != mount_of(above.get());
}

bool lies_on_a_mount(const std::filesystem::path& path) {
  const Fd self(::open(path.c_str(), O_PATH | O_CLOEXEC)), root(::open("/", O_PATH | O_CLOEXEC));
  return self && root && mount_of(self.get()) != mount_of(root.get());
}

}  // namespace trainstep
