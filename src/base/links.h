// Links, as whoever writes through them sees them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trainstep {

// Where a chain of links at the path itself leads, also when nothing is there; absolute, without a slash at its end. Of no link: the path.
std::filesystem::path followed(std::filesystem::path path);

}  // namespace trainstep
