// What every object that we create carries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "job_types/job_type.h"

namespace trainstep::job_types {

// An annotation on the job: Plan::spec_hash. Another hash under the same name is another job.
inline constexpr std::string_view spec_hash_annotation = "trainstep.dev/spec-hash";
// An annotation on the job: job_options.metrics as JSON, where there are any: for who attaches to it.
inline constexpr std::string_view metrics_annotation = "trainstep.dev/metrics";
// Kueue's label, on the job only: on pods it would count them a second time.
inline constexpr std::string_view queue_label = "kueue.x-k8s.io/queue-name";

// apiVersion, kind and metadata, with the labels of the plan and those of job_options for all replicas.
Manifest job_object(const plan::Plan& plan, const Resource& resource);

// Kubernetes wants text where people write numbers and booleans: labels, variables, quantities.
std::string scalar_text(const Json& value);

// Whole seconds, rounded up.
std::int64_t seconds(Duration duration);

// The input behind RunPolicy::ttl_after_finished.
std::string ttl_source(const plan::Plan& plan);

// The input behind Distribution::workers.
std::string workers_source(const plan::Plan& plan);

}  // namespace trainstep::job_types
