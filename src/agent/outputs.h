// What the program has written to the paths of its task's outputs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/path_snapshot.h"
#include "data/pending_output.h"
#include "objectstore/sync.h"
#include "plan/task.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// Creates the folders that the program may expect, those of `pending` as links to where they are written, and removes values of an earlier attempt in
// this pod. Returns what existed at each output's path before. Errors: denied, internal.
using PathSnapshots = std::map<std::string, PathSnapshot>;  // by output name
using Pending = std::map<std::string, PendingOutput>;       // by output name
Result<PathSnapshots> prepare_outputs(const plan::Task& task, const Pending& pending);

// For the primary: opens the outputs that are to appear on a claim. They are written next to their path there until commit_outputs(). Errors:
// conflict (another pod writes to one of them), denied, internal. What this job has put there before is reverted (PendingOutput): it is not known
// to be complete.
Result<Pending> open_outputs(const plan::Task& task);
// Describes what this job has put on a claim and could not be reverted; empty: nothing.
std::string what_stays(const plan::Task& task, const plan::TaskOutput& output);
// Moves those of `outputs` that are present to their paths, except folders in the place of files, signed with the job's attempt. Returns messages,
// one sentence each. Errors: denied, internal, that of `go_on`, which is called while link targets are copied.
Result<std::vector<std::string>> commit_outputs(Pending& pending, const std::vector<result::ReportedOutput>& outputs,
                                                const CheckCancelled& go_on = {});

// The outputs as they are now: take the snapshots when the program has succeeded while other processes that it started are still running, and check
// them once those have ended. Error (input): an output has changed meanwhile.
PathSnapshots snapshots_at_end(const plan::Task& task);
Result<void> check_unchanged(const PathSnapshots& at_end, const std::string& outlived);
// Error (input): an output is among the files that processes had open for writing when they were killed; it may contain an incomplete change.
Result<void> check_no_open_files(const plan::Task& task, const std::vector<std::string>& held);

// The files of artifacts that are to be delivered, links followed, by output name: exactly those that exist when the program has ended. Error
// (conflict): they have changed since.
using Trees = std::map<std::string, std::vector<objectstore::LocalFile>>;
Trees trees_at_end(const plan::Task& task);
Result<void> check_trees(const plan::Task& task, const Trees& at_end);

// An artifact is present if a non-empty regular file was written, or if the program has named an address. Errors (input): a value that was not
// written or does not fit its type, an executor output that is not JSON.
Result<std::vector<result::ReportedOutput>> read_outputs(const plan::Task& task, const PathSnapshots& before);

// Reads the curves of TensorBoard logs among the outputs that are present, as this container's program has written them since `began`, when `before`
// was taken. Returns messages, one sentence each.
std::vector<std::string> read_logs(const plan::Task& task, const PathSnapshots& before, Time began, std::vector<result::ReportedOutput>& outputs);

}  // namespace trainstep::agent
