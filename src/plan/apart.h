// What a step writes lies apart from all else that it reads or writes: outputs are put there as a whole, and removed as a whole (docs/adr/0020).
// Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trainstep::plan {

struct Place {
  std::string name;   // "model_dir"
  std::string where;  // comparable: a normal absolute path, or store_place()
  std::string shown;  // as it was given
  bool written = false;
};

// Error (input): one that is written equals, contains or lies in another one.
Result<void> check_apart(const std::vector<Place>& places);

// "/a/b" and "/a/b/c" lie in "/a/b".
bool lies_in(std::string_view path, std::string_view folder);

// The same for all ways to write one place: scheme, query, slashes at the ends, usual ports and a Service's longer names make no difference.
std::string store_place(std::string_view endpoint, std::string_view uri);

}  // namespace trainstep::plan
