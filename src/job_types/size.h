// Size limits of a manifest, and of what a container in it is given. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "job_types/manifest.h"

namespace trainstep::job_types {

// etcd accepts objects up to 1.5 MiB, including managed fields; a dry run does not reach etcd.
inline constexpr std::size_t max_manifest_size = 1'400'000;

// Error (input): the manifest is too large (names the largest source); or a container has an argument or variable that exceeds the kernel's limit
// (plan/exec_size.h), which may also come from a patch.
Result<void> check_size(const Manifest& manifest);

}  // namespace trainstep::job_types
