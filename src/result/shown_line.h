// What a reader sees of a line in the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::result {

// Of versions that were drawn over one another the last one with content, without colours, a launcher's rank and "INFO:root:". `clean` holds the text
// where it could not be a part of `raw`.
std::string_view shown_line(std::string_view raw, std::string& clean);

}  // namespace trainstep::result
