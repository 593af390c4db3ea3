// Checks that the volumes of job_options do not conflict within a pod, with each other or with those of Trainstep. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::plan {

// `volumes` as in PodOptions. Errors (input): a name that Kubernetes rejects or that is used by a volume of Trainstep, one name for two volumes, two
// mounts at one path.
Result<void> check_mounts(const Json& volumes, const std::string& train_mount);

// Error (input): a path that no container can mount at, or that is Trainstep's. `where`: its place in the input.
Result<void> check_mount_path(std::string_view where, const std::string& path);

// "/a/b/" and "/a/./b" become "/a/b".
std::string normal_path(const std::string& path);

// The members of an entry of PodOptions::volumes that belong to the volume, not to its mount.
Json volume_part(const Json& volume);

}  // namespace trainstep::plan
