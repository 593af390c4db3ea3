// The step's last words, where the kubelet reads them: Argo puts them beside its node, and KFP shows them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep::cli {

// TRAINSTEP_TERMINATION_LOG, else the kubelet's default where this process is what a container of a pod runs: its first process, or under Argo's
// executor. Empty: nowhere; in a notebook's pod the file is the notebook's. To be asked before the process forks.
std::string find_termination_log();

// A file that is there already is written to, none is made, and nothing but a regular file. One line of at most 4,096 bytes, without the values of
// those `variables` ("NAME=value"), and of this process's own, whose names speak of secrets. That it cannot be written is no error: the log says the
// same.
void write_termination_log(const std::string& path, std::string_view sentence, std::vector<std::string> variables = {});

}  // namespace trainstep::cli
