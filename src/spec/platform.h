// Translates kfp-kubernetes settings (the platform document of KFP v2 IR) into `job_options`. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::spec {

// `executor`: platforms.kubernetes.deploymentSpec.executors.LABEL (KubernetesExecutorConfig). The result is an object that plan::parse_options
// accepts. Names that come from a pipeline parameter or from another task are not known here; they, and settings without a translation (ephemeral
// volumes, pod affinity, any future ones), are input errors that name the key and what to use instead.
Result<Json> read_platform(const Json& executor, const std::string& where);

}  // namespace trainstep::spec
