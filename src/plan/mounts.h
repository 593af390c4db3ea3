// Whether the volumes of job_options can stand in one pod, with each other and with those of this program. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::plan {

// `volumes` as in PodOptions. Errors (input): a name that Kubernetes refuses or that this program's own volume has, one name for two volumes, two
// mounts at one path, a mount in the agent's folder.
Result<void> check_mounts(const Json& volumes, const std::string& train_mount);

// "/a/b/" and "/a/./b" are "/a/b".
std::string normal_path(const std::string& path);

// Everything of an entry of PodOptions::volumes that is the volume's, not its mount's.
Json volume_part(const Json& volume);

}  // namespace trainstep::plan
