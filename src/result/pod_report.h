// The report of the agent in a training pod to the step: in its termination message, and in the record of a finished training. Pure.
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
  std::string name;  // formal name
  bool artifact = false;
  bool present = false;                // its value is known; for an artifact: this run has written it, or has reported its location
  std::optional<Json> value;           // of a value
  std::string uri;                     // of an artifact: its location, if the program reports another one than the requested one
  Json metadata = Json::object();      // of an artifact: KFP v2, set by the program
  std::vector<MetricSeries> curves{};  // from the TensorBoard logs among an artifact's files
  bool no_file = false;                // of a present artifact: a folder, although the step expects a file; not delivered
};

struct PodReport {
  std::string attempt;           // of the job: Task::attempt
  int exit_code = 0;             // of the program; meaningless if the agent failed
  VerdictClass verdict_class{};  // succeeded: the program succeeded, and its outputs are delivered
  std::string message;           // if the agent itself failed: "input data: …"
  bool primary = false;          // outputs and byte counts are those of the job
  bool repeated = false;         // this attempt did nothing: the training had finished in an earlier one
  std::vector<ReportedOutput> outputs;
  bool shortened = false;       // values and metadata did not fit into a termination message: the complete report is the record of the finished
                                // training
  bool curves_thinned = false;  // some curves or points are omitted: the record has all of them
  std::int64_t bytes_in = 0, bytes_out = 0;
  double seconds_in = 0, seconds_out = 0;
};

// The kubelet's limit for a termination message (core/v1, terminationMessagePath).
inline constexpr std::size_t max_termination_message_size = 4096;

// JSON, for the termination message and the record.
std::string to_text(const PodReport& report);

// Keeps at most `most` points of each curve, including the last one; 0 removes the curves.
void thin_curves(PodReport& report, std::size_t most);
// The limit for the points of all curves together in a record; the last value of each is kept.
inline constexpr std::size_t max_reported_points = 20'000;
// None: the text is not a report, or one of another version.
std::optional<PodReport> read_pod_report(std::string_view text);

}  // namespace trainstep::result
