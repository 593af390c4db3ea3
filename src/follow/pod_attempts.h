// Decides what a pod says about the attempts of its program: which container runs it, whether it has ended, how often it has failed. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "job_types/pod_view.h"

namespace trainstep::follow {

// The container of the program, by its name in the job's template (Member::container). Null: the pod shows none.
const job_types::ContainerView* program_container(const job_types::PodView& pod, const std::string& name);

// Identifies an attempt and its log: "UID/RESTARTS".
std::string attempt_name(const job_types::PodView& pod, const job_types::ContainerView& container);
// That of the attempt before a restart in place.
std::string previous_attempt_name(const job_types::PodView& pod, const job_types::ContainerView& container);

// It has ended, and the kubelet will restart it.
bool waits_to_restart(const job_types::ContainerView& container);
// How the latest attempt in this container ended; null: it has not.
const job_types::ContainerStateTerminated* end_of(const job_types::ContainerView& container);

// Attempts of the program and of init containers that failed in this pod so far; never decreases.
int failures_in(const job_types::PodView& pod, const std::string& program);

}  // namespace trainstep::follow
