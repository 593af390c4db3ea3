// Which mount a file is reached by. Two bind mounts of one disk are two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace trainstep {

struct Mount {
  bool by_device = false;  // the kernel tells no more than the device
  std::uint64_t number = 0;
  bool operator==(const Mount&) const = default;
};

// Of what `fd` has open; O_PATH will do. Asks no server: it may be dead.
Mount mount_of(int fd);

// Whether something is mounted at the path itself, a file or a folder: it cannot be renamed, nor anything be put in its place. Links are followed.
bool is_mount(const std::filesystem::path& path);

// Whether the path, which must exist, lies on another mount than the root folder: of a container, on a volume and not in its own layer.
bool lies_on_a_mount(const std::filesystem::path& path);

}  // namespace trainstep
