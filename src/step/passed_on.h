// Which environment variables of the step are passed on to the training program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/json.h"

namespace trainstep::step {

struct PassedOn {
  Json variables = Json::object();    // NAME → string
  std::vector<std::string> left_out;  // one sentence for each variable whose name matches but which was not passed on: why, and what to do
};

// By default: proxies, pip's index, MLFLOW_*; but nothing that holds a secret, because it would be readable in the job, and nothing that names a
// file of this machine, which the pods do not have. `further`: names, which are passed on whatever they hold, or "PREFIX*", of which secrets are not
// passed on, nor variables of another step or distributed run (plan/step_variables.h) (job_options.pass_environment). Empty variables are omitted.
PassedOn passed_on(const std::map<std::string, std::string>& environment, const std::vector<std::string>& further);

}  // namespace trainstep::step
