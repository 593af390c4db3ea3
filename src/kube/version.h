// Compares the age of two states of a resource, possibly from different API servers. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace trainstep::kube {

// Compares resourceVersions, which are increasing decimal numbers (KEP-5504). false if either is missing or not a number.
inline bool is_older_version(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text) {
    return !text.empty() && text.front() != '0' && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!number(a) || !number(b)) return false;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace trainstep::kube
