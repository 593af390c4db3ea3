// Names: what users may choose, and the limits of Kubernetes and its operators.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep::plan {

// The longest job name that leaves room for every suffix added by an operator ("-evaluator-9999"; docs/design/operators.md, Names).
inline constexpr std::size_t max_job_name_length = 40;

// A model name becomes part of the job's name: 1 … 63 characters of [a-z0-9-], starting with a letter, not ending with a dash. Error (input): names
// the invalid name, and suggests a valid one.
Result<void> check_model_name(std::string_view name);

// A run ID is used as a label value and a folder name: 1 … 63 characters of [A-Za-z0-9_.-], starting and ending with a letter or digit.
Result<void> check_run_id(std::string_view run_id);

// 1 … 253 characters of [a-z0-9.-], with a letter or digit at both ends of each part between dots (a DNS-1123 subdomain): a claim. Error (input):
// begins with `key`.
Result<void> check_object_name(std::string_view key, std::string_view name);

// The same without dots, at most 63 characters (a DNS-1123 label).
Result<void> check_namespace(std::string_view key, std::string_view name);

// Whether jobs and pods are found and identified by this label or annotation: Trainstep's own keys, and those by which operators and the Job
// controller select pods. No input may set one.
bool is_identity_key(std::string_view key);

// The same run always gets the same name: "<model>-<10 hexadecimal digits of run_id's digest>", a DNS-1035 label.
std::string job_name(std::string_view model_name, std::string_view run_id);

// A formal parameter's name as a file name: all characters except [A-Za-z0-9_.-] become '_'; never "." or "..".
std::string file_name(std::string_view formal_name);

}  // namespace trainstep::plan
