// The entries of job_types.cpp: a namespace per job type, defined in its own file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_types/job_type.h"

namespace trainstep::job_types {

namespace job {
JobType type();
}
namespace pytorch {
JobType type();
}
namespace mpi {
JobType type();
}
namespace tf {
JobType type();
}

}  // namespace trainstep::job_types
