// What was brought to a place of the job's own, object by object: whoever fetches it takes exactly these. A listing may lack what is there, and show
// what nobody has brought (docs/adr/0020).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "objectstore/answers.h"

namespace trainstep::staging {

// Below an output's address: an upload that is begun before the training, to know whether one may be, and never completed.
inline constexpr std::string_view probe_name = ".trainstep.probe";

// A key that ends with a slash is a folder without a file.
// Where the list of what lies at `uri` is, beside it. It is written last.
std::string list_beside(const std::string& uri);
std::string list_of(const std::vector<objectstore::Object>& objects);
// Error (unavailable): the text is no such list.
Result<std::vector<objectstore::Object>> read_list(std::string_view text);

}  // namespace trainstep::staging
