// How the agent tells: people by lines on stderr, the step by its report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// "trainstep: …" on stderr.
void tell(const std::string& line);
// Until what was told is written: before somebody else writes there. Not longer than a reader takes who reads.
void await_told();

// Into the termination message, if there is one. A program that has failed by itself leaves it to its log's last lines, which the kubelet puts there.
void tell_kubelet(const result::PodReport& report, const std::string& termination_log);

// The same of an error before there was a task.
void tell_error(const Error& error, const std::string& termination_log);

// In the pod's scratch folder, for print_report().
void leave_report(const result::PodReport& report, const std::string& scratch);

}  // namespace trainstep::agent
