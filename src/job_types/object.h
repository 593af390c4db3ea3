// Metadata common to all jobs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "job_types/job_type.h"

namespace trainstep::job_types {

// An annotation on the job: Plan::spec_hash. If the hash differs, an object of the same name is another job.
inline constexpr std::string_view spec_hash_annotation = "trainstep.dev/spec-hash";
// An annotation on the job: job_options.metrics as JSON, if any: for attaching to the job.
inline constexpr std::string_view metrics_annotation = "trainstep.dev/metrics";
// Kueue's label, only on the job: on pods it would count them twice.
inline constexpr std::string_view queue_label = "kueue.x-k8s.io/queue-name";

// apiVersion, kind and metadata, with the labels of the plan and those of job_options for all replicas.
Manifest job_object(const plan::Plan& plan, const Resource& resource);

// Kubernetes expects strings where users write numbers and booleans: labels, variables, quantities.
std::string scalar_text(const Json& value);

// Whole seconds, rounded up.
std::int64_t seconds(Duration duration);

// The input that set RunPolicy::ttl_after_finished.
std::string ttl_source(const plan::Plan& plan);

// The input that set Distribution::workers.
std::string workers_source(const plan::Plan& plan);

}  // namespace trainstep::job_types
