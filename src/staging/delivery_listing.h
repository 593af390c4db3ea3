// The list of the objects that were delivered to an address of the job's own: a fetch takes exactly these. A store's listing may omit some of them,
// and may show others that were not delivered (docs/adr/0020).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "objectstore/answers.h"

namespace trainstep::staging {

// The name, below an output's address, of an upload that is started before the training to check the permission, and is never completed.
inline constexpr std::string_view probe_name = ".trainstep.probe";

// The address of the list of what is stored at `uri`, next to it. It is written last. In the list, a key that ends with a slash is an empty folder.
std::string delivery_list_of(const std::string& uri);
std::string list_of(const std::vector<objectstore::Object>& objects);
// Error (unavailable): the text is not a valid list.
Result<std::vector<objectstore::Object>> read_list(std::string_view text);

}  // namespace trainstep::staging
