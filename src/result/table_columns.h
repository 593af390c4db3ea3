// The columns of a table: their names and limits. Shared by the parsers of tables.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainstep::result {

// What is wider or longer is no table of metrics.
inline constexpr std::size_t max_columns = 40;
inline constexpr std::size_t max_row_length = 1000;

// "Train Loss" → Train_Loss, "mAP50-95)" → "mAP50-95"; "" if it cannot be a name.
std::string column_name(std::string_view label);

// Whether the values below such a name are metrics.
bool names_metric(std::string_view column);

}  // namespace trainstep::result
