// The two MPIJobs: kubeflow.org/v2beta1 of mpi-operator and kubeflow.org/v1 of the training operator (docs/design/operators.md, Job types). They
// share one CRD name, so a cluster has only one of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_types/job_type.h"

namespace trainstep::job_types {

inline constexpr std::string_view mpi_v1 = "kubeflow.org/v1";
inline constexpr std::string_view mpi_v2beta1 = "kubeflow.org/v2beta1";

// `launcher`, `worker`: the entries of the job type's replicas(). Errors as for JobType::render.
Result<Manifest> render_mpi_v2beta1(const plan::Plan& plan, const Resource& resource, const Replicas& launcher, const Replicas& worker);
Result<Manifest> render_mpi_v1(const plan::Plan& plan, const Resource& resource, const Replicas& launcher, const Replicas& worker);

}  // namespace trainstep::job_types
