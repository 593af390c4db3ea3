// The identity of a step: the same for all its attempts, different for every other step, run and loop iteration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::step {

// The folder shared by the outputs of a KFP v2 step, without scheme or local root: "mlpipeline/v2/artifacts/PIPELINE/RUN/TASK/UUID". `output` is an
// artifact's uri, or outputs.outputFile of a backend from 2.15 on; both give the same. The last component (executor-logs has the number of the
// attempt) is ignored. Empty: `output` is not in an object store (older backends write to /tmp).
std::string shared_folder(std::string_view output);

// `place`: the shared folder, or the uid of the Workflow. `node_name`: the node of the Workflow, "wf(0).root(0).train(1)"; the "(n)" of each attempt
// is removed. Empty if both are.
std::string identity(std::string_view place, std::string_view node_name);

}  // namespace trainstep::step
