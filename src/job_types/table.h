// The entries of job_types.cpp: one function per job type, defined in its own file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_types/job_type.h"

namespace trainstep::job_types {

JobType job();
JobType pytorch();
JobType mpi();
JobType tf();

}  // namespace trainstep::job_types
