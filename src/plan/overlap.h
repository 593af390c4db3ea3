// A step's outputs must not overlap with anything else that it reads or writes: outputs are created as a whole, and removed as a whole
// (docs/adr/0020). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trainstep::plan {

struct Place {
  std::string name;   // "model_dir"
  std::string where;  // comparable: a normalized absolute path, or a result of canonical_address()
  std::string shown;  // as given by the user
  bool written = false;
};

// Error (input): a place that is written equals, contains or is inside another one.
Result<void> check_no_overlap(const std::vector<Place>& places);

// "/a/b" and "/a/b/c" lie in "/a/b".
bool lies_in(std::string_view path, std::string_view folder);

// A canonical form of a location in a store: scheme, query, leading and trailing slashes, default ports and the longer forms of a Service's name make
// no difference.
std::string canonical_address(std::string_view endpoint, std::string_view uri);

}  // namespace trainstep::plan
