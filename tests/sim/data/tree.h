// Files by their paths: what a program writes, what lies in a store, what lies in a folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/time.h"

namespace trainstep::sim::data {

using Tree = std::map<std::string, std::string>;  // relative path → content; "" is a single file itself

// `size` bytes that no other number gives.
std::string bytes_of(std::uint64_t number, std::size_t size);
// Where a file of a tree is.
inline std::filesystem::path below(const std::filesystem::path& root, const std::string& path) { return path.empty() ? root : root / path; }
std::uint64_t number_of(const Tree& tree);
// What the folder, or file, holds; nothing where there is none.
Tree read_tree_at(const std::filesystem::path& root);
// With a time of last change of the world's own: real time stands still meanwhile.
void write_at(const std::filesystem::path& file, const std::string& content, Time now);
// "weights: 1024 bytes instead of 2048; x: not there; y: too many", or "".
std::string differences(const Tree& found, const Tree& wanted);

}  // namespace trainstep::sim::data
