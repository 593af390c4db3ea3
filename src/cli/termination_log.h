// The termination message of the step's container, which Argo shows with its node and KFP displays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep::cli {

// TRAINSTEP_TERMINATION_LOG, otherwise the kubelet's default if this process is what a container of a pod runs: its first process, or under Argo's
// executor. Empty: none; in the pod of a notebook the file belongs to the notebook. Call it before the process forks.
std::string find_termination_log();

// Writes to an existing regular file only, and creates none. One line of at most 4,096 bytes, without the values of those `variables` ("NAME=value"),
// and of those of this process, whose names sound secret. A failed write is not an error: the log says the same.
void write_termination_log(const std::string& path, std::string_view sentence, std::vector<std::string> variables = {});

}  // namespace trainstep::cli
