// Which mount a file is reached by. Two bind mounts of one disk are two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trainstep {

struct Mount {
  bool by_device = false;  // the kernel tells no more than the device
  std::uint64_t number = 0;
  bool operator==(const Mount&) const = default;
};

// Of what `fd` has open; O_PATH will do. Asks no server: it may be dead.
Mount mount_of(int fd);

}  // namespace trainstep
