// The rows of job_types.cpp: one function for each job type, in its own place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_types/job_type.h"

namespace trainstep::job_types {

JobType job();
JobType pytorch();
JobType mpi();
JobType tf();

}  // namespace trainstep::job_types
