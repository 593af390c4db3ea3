// Names: what users may write, and what Kubernetes and its operators can bear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep::plan {

// The longest job name that leaves room for every suffix an operator adds ("-evaluator-9999"; docs/design/operators.md, Names).
inline constexpr std::size_t longest_job_name = 40;

// A model name becomes part of the job's name: 1 … 63 of [a-z0-9-], first a letter, last no dash. Error (input): says which, and a name that would
// do.
Result<void> check_model_name(std::string_view name);

// A run id is a label value and a folder: 1 … 63 of [A-Za-z0-9_.-], first and last a letter or digit.
Result<void> check_run_id(std::string_view run_id);

// 1 … 253 of [a-z0-9.-], first and last a letter or digit (DNS-1123): a claim, a namespace. Error (input): begins with `key`.
Result<void> check_object_name(std::string_view key, std::string_view name);

// Whether jobs and pods are found, and told from others, by this label or annotation: trainstep's own, and those that operators and the Job
// controller select pods by. No input may set one.
bool is_identity_key(std::string_view key);

// The same run always gets the same name: "<model>-<10 hexadecimal digits of run_id's digest>", a DNS-1035 label.
std::string job_name(std::string_view model_name, std::string_view run_id);

// A formal parameter's name as a file name: anything but [A-Za-z0-9_.-] becomes '_'; never "." or "..".
std::string file_name(std::string_view formal_name);

}  // namespace trainstep::plan
