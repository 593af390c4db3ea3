// What the agent in a training pod tells the step: in its termination message, and in the record of a finished training. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "result/metrics.h"
#include "result/verdict.h"

namespace trainstep::result {

// An output as the program left it.
struct ReportedOutput {
  std::string name;  // formal
  bool artifact = false;
  bool present = false;                // its value is known; an artifact: this run has written it, or says where it is
  std::optional<Json> value;           // of a value
  std::string uri;                     // of an artifact: where it is, if the program says that it lies elsewhere than where it was asked for
  Json metadata = Json::object();      // of an artifact: KFP v2, set by the program
  std::vector<MetricSeries> curves{};  // of the TensorBoard logs among an artifact's files
};

struct PodReport {
  std::string attempt;           // of the job: Task::attempt
  int exit_code = 0;             // of the program; without meaning when the agent failed
  VerdictClass verdict_class{};  // succeeded: the program did, and its outputs are delivered
  std::string message;           // of a failure that is the agent's own: "input data: …"
  bool primary = false;          // outputs and bytes are those of the job
  bool repeated = false;         // this attempt did nothing: the training had finished in an earlier one
  std::vector<ReportedOutput> outputs;
  bool shortened = false;       // values and metadata did not fit into a termination message: the whole report is the record of the finished training
  bool curves_thinned = false;  // of curves and their points some are left out: all are in the record
  std::int64_t bytes_in = 0, bytes_out = 0;
  double seconds_in = 0, seconds_out = 0;
};

// What the kubelet takes as a termination message (core/v1, terminationMessagePath).
inline constexpr std::size_t longest_termination_message = 4096;

std::string to_text(const PodReport& report);

// Keeps at most so many points of each curve, the last one among them; none: no curve at all.
void thin_curves(PodReport& report, std::size_t most);
// At most so many points of all curves together, for a record: their last values stay.
inline constexpr std::size_t most_reported_points = 20'000;
// None: the text is something else, or a report of another version.
std::optional<PodReport> read_pod_report(std::string_view text);

}  // namespace trainstep::result
