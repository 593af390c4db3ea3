// SPDX-License-Identifier: Apache-2.0
#include "data/changed_since.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <utility>

#include "data/birth_time.h"

namespace trainstep {
namespace {

constexpr std::time_t clocks_differ = 10;  // seconds
constexpr std::time_t coarse = 2;          // seconds; file systems that store whole seconds; FAT has a resolution of two

// linux/magic.h does not define these.
constexpr long xfs = 0x58465342, zfs = 0x2FC12FC1;

bool has_our_clock(const std::filesystem::path& path) {
  constexpr std::array<long, 10> local{EXT4_SUPER_MAGIC, xfs,         BTRFS_SUPER_MAGIC, TMPFS_MAGIC,   OVERLAYFS_SUPER_MAGIC, zfs,
                                       F2FS_SUPER_MAGIC, RAMFS_MAGIC, MSDOS_SUPER_MAGIC, SQUASHFS_MAGIC};
  struct statfs found{};
  return ::statfs(path.c_str(), &found) == 0 && std::ranges::find(local, static_cast<long>(found.f_type)) != local.end();
}

}  // namespace

timespec ChangedSince::now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

bool ChangedSince::operator()(const std::filesystem::path& path, const struct stat& found) {
  if (!is_since(found.st_ctim, path, found.st_dev)) return false;
  const auto born = birth_time(path, found);
  return !born || is_since(*born, path, found.st_dev) || is_since(found.st_mtim, path, found.st_dev);
}

bool ChangedSince::is_since(const timespec& at, const std::filesystem::path& path, dev_t device) {
  if (std::pair(at.tv_sec, at.tv_nsec) >= std::pair(m_since.tv_sec, m_since.tv_nsec)) return true;
  if (at.tv_nsec == 0 && at.tv_sec + coarse > m_since.tv_sec) return true;
  if (at.tv_sec + clocks_differ < m_since.tv_sec) return false;
  const auto [known, is_new] = m_here.try_emplace(device, true);
  if (is_new) known->second = has_our_clock(path);
  return !known->second;
}

}  // namespace trainstep
