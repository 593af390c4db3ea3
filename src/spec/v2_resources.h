// Reads container.resources of KFP v2 IR. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// Newer SDKs write quantities (resourceCpuLimit "8", resourceMemoryLimit "32Gi") in addition to numbers (cpuLimit, memoryLimit in 10⁹ bytes); the
// quantities take precedence. Limits take precedence over requests, because Trainstep requests as much as the limit. Error (input): a value that
// comes from the pipeline, or an accelerator that is not a Kubernetes resource.
Result<RequestedResources> read_v2_resources(const Json& container, const std::string& where);

}  // namespace trainstep::spec
