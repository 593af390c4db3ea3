// What a pod says about its end. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/event.h"
#include "job_types/pod_view.h"

namespace trainstep::follow {

// `termination`: of the program's container; null: there is none, the pod ended without it (evicted before it began, an init container failed, its
// node is lost). `reason` says what the exit code does not: OOMKilled, the eviction's message, which init container failed; empty otherwise.
Termination termination_of(const job_types::PodView& pod, const job_types::ContainerStateTerminated* termination);

// The pod's end is somebody's doing who deletes it – its operator's at the end of the job or at a suspension, a person's – and not the program's.
bool stopped_by_deletion(const job_types::PodView& pod, const Termination& ending);

// The init container that the program could not begin because of; null: none failed.
const job_types::ContainerView* failed_init_container(const job_types::PodView& pod);

}  // namespace trainstep::follow
