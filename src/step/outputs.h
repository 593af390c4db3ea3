// Writes the outputs of the step in all requested forms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "step/file_set.h"
#include "step/step_summary.h"

namespace trainstep::step {

// The files of the targets in the order in which they appear, the KFP v2 executor output last (after a success only: KFP reads no other).
// What both the program and the step write (metrics, mlpipeline_metrics, mlpipeline_ui_metadata) is merged, wherever the program's file lies; what
// cannot be read, or is of another sort (a table, say), stays as it is, and nothing is written: KFP's launcher uploads what lies at a path over what
// was delivered to its address.
//   metrics                  {"accuracy": 0.93}, finite values only unless Python reads it, and what else stands in the program's own object
//   results                  everything the program returned; after a success only
//   report                   `report`, one HTML page
//   job_name                 unless there is no plan
//   mlpipeline_metrics       KFP v1: at most 50, finite, names made to fit
//   mlpipeline_ui_metadata   KFP v1: the program's own entries, a table of the metrics, the report
//   other KFP v2 parameters  the program's value of that name, else the metric of that name
struct Rendered {
  std::vector<FileContent> files;
  std::vector<std::string> missing;  // KFP v2 parameters that have no value after a success
};
Rendered render_outputs(const StepSummary& summary, const FileReader& read_file, std::string_view report);

// Renders the report and writes all outputs together. After a success an empty folder is created at the path of model_dir if nothing is there. Error
// (input), in which case the step fails and its files say so: a KFP v2 output parameter without a value (KFP would fail the step and lose its log);
// the program wrote nothing but metadata to the model_dir that it was given, or gave a location for its model that KFP v2 does not register; what it
// wrote is of a kind that cannot be committed. Error (conflict), likewise: the folder of a file has been replaced; that file is not written. For all
// other errors, those of write_together() and of `commit`, nothing was written. After a success `commit` moves the program's own outputs to their
// places, when only the renames of our own files remain.
Result<void> write_outputs(const StepSummary& summary, const FileReader& read_file, const std::function<Result<void>()>& commit = {});

}  // namespace trainstep::step
