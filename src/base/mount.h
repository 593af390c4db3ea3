// Identifies the mount through which a file is reached. Two bind mounts of one disk are different mounts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace trainstep {

struct Mount {
  bool by_device = false;  // the kernel reports no mount ID: `number` is the device
  std::uint64_t number = 0;
  bool operator==(const Mount&) const = default;
};

// The mount of the file open at `fd`; O_PATH suffices. Sends no request to a file server, which may be unresponsive.
Mount mount_of(int fd);

// Whether a file system, file or folder is mounted at the path itself: such a path cannot be renamed or replaced. Links are followed.
bool is_mount(const std::filesystem::path& path);

// Whether the path, which must exist, is on another mount than the root folder: in a container, on a volume and not in its own layer.
bool lies_on_a_mount(const std::filesystem::path& path);

}  // namespace trainstep
