// Resolving symbolic links as a program that writes through them does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace trainstep {

// The target of a chain of links at the path itself, whether or not it exists; absolute, without a trailing slash. Returns the path if it is not a
// link.
std::filesystem::path followed(std::filesystem::path path);

// The file descriptor of this process that a path refers to, directly or through links: "/dev/stdout", "/dev/fd/3", "/proc/self/fd/3". It need not be
// open.
std::optional<int> named_descriptor(std::filesystem::path path);

}  // namespace trainstep
