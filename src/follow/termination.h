// How a pod ended. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/event.h"
#include "job_types/pod_view.h"

namespace trainstep::follow {

// `termination`: of the program's container; null: there is none, the pod ended without it (evicted before it started, an init container failed, its
// node is lost). `reason` adds what the exit code does not say: OOMKilled, the message of an eviction, the init container that failed; otherwise
// empty.
Termination termination_of(const job_types::PodView& pod, const job_types::ContainerStateTerminated* termination);

// The pod was ended by a deletion – by its operator at the end of the job or on suspension, or by a person – and not by the program.
bool stopped_by_deletion(const job_types::PodView& pod, const Termination& ending);

// The init container that kept the program from starting; null: none failed.
const job_types::ContainerView* failed_init_container(const job_types::PodView& pod);

}  // namespace trainstep::follow
