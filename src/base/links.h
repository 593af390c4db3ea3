// Links, as whoever writes through them sees them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace trainstep {

// Where a chain of links at the path itself leads, also when nothing is there; absolute, without a slash at its end. Of no link: the path.
std::filesystem::path followed(std::filesystem::path path);

// The open file of this process that a path means, perhaps over links: "/dev/stdout", "/dev/fd/3", "/proc/self/fd/3". It need not be open.
std::optional<int> named_descriptor(std::filesystem::path path);

}  // namespace trainstep
