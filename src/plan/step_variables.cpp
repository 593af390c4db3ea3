// SPDX-License-Identifier: Apache-2.0
#include "plan/step_variables.h"

#include <algorithm>
#include <array>

namespace trainstep::plan {

bool belongs_to_step(std::string_view name) {
  constexpr std::array<std::string_view, 7> prefixes{"KUBERNETES_", "ARGO_", "PET_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PMIX_", "PMI_"};
  constexpr std::array<std::string_view, 16> names{"TF_CONFIG",
                                                   "RANK",
                                                   "WORLD_SIZE",
                                                   "LOCAL_RANK",
                                                   "LOCAL_WORLD_SIZE",
                                                   "GROUP_RANK",
                                                   "MASTER_ADDR",
                                                   "MASTER_PORT",
                                                   "CLUSTER_SPEC",
                                                   "JOB_COMPLETION_INDEX",
                                                   "TRAINSTEP_RUN_ID",
                                                   "TRAINSTEP_MEMBER",
                                                   "TRAINSTEP_TRAIN_DATASET_DIR",
                                                   "TRAINSTEP_VALIDATION_DATASET_DIR",
                                                   "TRAINSTEP_MODEL_DIR",
                                                   "TRAINSTEP_METRICS"};
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

}  // namespace trainstep::plan
