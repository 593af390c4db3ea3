// What the agent writes: lines for people on stderr, and its report to the step, in the pod's termination message or for print_report().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "result/pod_report.h"

namespace trainstep::agent {

inline constexpr std::size_t max_report_size = std::size_t{32} << 20U;

// "trainstep: …" on stderr.
void log(const std::string& line);
// Waits until all lines are written, before another process writes there; not longer than a reader that reads needs.
void await_told();

// Writes the termination message, if the container has one. If the program itself has failed, it is left to the kubelet, which puts the last lines of
// the log there.
void write_termination_message(const result::PodReport& report, const std::string& termination_log);

// The same for an error that occurs before there is a task.
void report_error(const Error& error, const std::string& termination_log);

// Writes it to the pod's scratch folder, for print_report().
void leave_report(const result::PodReport& report, const std::string& scratch);

// Prints the report that a rank has left in `scratch`, or nothing if there is none. Returns 1 if it cannot be read.
int print_report(const std::string& scratch);

}  // namespace trainstep::agent
