// The syntax of the names that Kubernetes gives to labels, annotations, resources and keys (apimachinery, pkg/util/validation/validation.go). The API
// server would refuse others only when the job is created.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::plan {

// A DNS-1123 subdomain: labels of [a-z0-9-] that start and end with a letter or digit, separated by dots, at most 253 characters.
bool is_subdomain(std::string_view name);

// 1 … 63 characters of [A-Za-z0-9_.-], starting and ending with a letter or digit, after an optional subdomain and a slash.
bool is_qualified_name(std::string_view name);

// Empty, or as is_qualified_name() without the subdomain.
bool is_label_value(std::string_view value);

// Errors (input) begin with `where`, the place of the labels in the input; values are texts.
Result<void> check_label_key(std::string_view where, std::string_view key);
Result<void> check_labels(std::string_view where, const Json& labels);
// Keys as those of labels, in any case; keys and values have at most 256 KiB together.
Result<void> check_annotations(std::string_view where, const Json& annotations);

// Error (input): not a resource of containers. `where`: the place of the name.
Result<void> check_resource_name(std::string_view where, std::string_view name);

// Error (input): not a key of a Secret or ConfigMap. `where`: the place of the key.
Result<void> check_data_key(std::string_view where, std::string_view key);

}  // namespace trainstep::plan
