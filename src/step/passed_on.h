// Which of the step's own environment variables the training program gets, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/json.h"

namespace trainstep::step {

struct PassedOn {
  Json variables = Json::object();    // NAME → text
  std::vector<std::string> left_out;  // a sentence for each that would have been by its name, and was not: why, and what to do
};

// By default: proxies, pip's index, MLFLOW_*; but nothing that holds a secret, which everybody could read in the job, and nothing that names a file
// of this machine, which the pods have not. `further`: names, which are passed on whatever they hold, or "PREFIX*", of which secrets are not
// (job_options.pass_environment). Empty variables are left out.
PassedOn passed_on(const std::map<std::string, std::string>& environment, const std::vector<std::string>& further);

}  // namespace trainstep::step
