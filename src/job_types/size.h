// How large a manifest, and what a container in it is given, may be. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "job_types/manifest.h"

namespace trainstep::job_types {

// etcd takes 1.5 MiB of an object, its managed fields included; a dry run does not come so far.
inline constexpr std::size_t largest_manifest = 1'400'000;

// Error (input): it is larger, and what set most of it; or a container has a word or variable that the kernel gives to no program (plan/exec_size.h),
// which a patch may bring, too.
Result<void> check_size(const Manifest& manifest);

}  // namespace trainstep::job_types
