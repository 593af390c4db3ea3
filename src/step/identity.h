// Who a step is: the same over all its attempts, another for every other step, run and loop iteration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::step {

// The folder that the outputs of one KFP v2 step share, without scheme or local root: "mlpipeline/v2/artifacts/PIPELINE/RUN/TASK/UUID". `output` is
// an artifact's uri or outputs.outputFile of a 2.15+ backend; both give the same. The last part (executor-logs carries the number of the attempt)
// does not count. Empty: `output` lies in no object store (older backends write to /tmp).
std::string shared_folder(std::string_view output);

// `place`: the shared folder, or the Workflow's uid. `node_name`: the Workflow's node, "wf(0).root(0).train(1)"; every attempt's "(n)" is taken out.
// Empty when both are.
std::string identity(std::string_view place, std::string_view node_name);

}  // namespace trainstep::step
