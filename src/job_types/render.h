// Renders a Plan as the manifest that is sent to Kubernetes. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "job_types/job_type.h"

namespace trainstep::job_types {

// The candidate of that group and version ("kubeflow.org/v1"), or the preferred one if `group_version` is empty. Errors: input (lists the
// candidates).
Result<Resource> choose_resource(const JobType& job_type, std::string_view group_version);

// The job for `group_version`; job_options.patch is applied last. Errors: input; a patch must not change what identifies the job and its pods, or
// their owners (apiVersion, kind, name, namespace, owners, finalizers, plan::is_identity_key).
Result<Manifest> render(const plan::Plan& plan, std::string_view group_version = {});

std::string to_yaml(const Manifest& manifest);
// Every value is followed by the input that set it, as a comment.
std::string to_yaml_explained(const Manifest& manifest);

}  // namespace trainstep::job_types
