// Which of the step's own environment variables the training program gets, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/json.h"

namespace trainstep::step {

// By default: proxies, CA bundles, pip's index, MLFLOW_* without its token and password. `further`: names, or "PREFIX*"
// (job_options.pass_environment). The result is an object NAME → text; empty variables are left out.
Json passed_on(const std::map<std::string, std::string>& environment, const std::vector<std::string>& further);

}  // namespace trainstep::step
