// What the program left at the paths of its task's outputs.
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

// Makes the folders that the program may expect, those of `pending` as links that lead to where it is written, and removes values of an earlier
// attempt in this pod. Returns what stood at each output's path before. Errors: denied, internal.
using PathSnapshots = std::map<std::string, PathSnapshot>;  // by output name
using Pending = std::map<std::string, PendingOutput>;       // by output name
Result<PathSnapshots> prepare_outputs(const plan::Task& task, const Pending& pending);

// Of the primary, what is to appear on a claim: it is written beside its place there until commit_outputs(). Errors: conflict (another pod writes to
// one of them), denied, internal. What this job has put there before is taken back (PendingOutput): it is not known to be whole.
Result<Pending> open_outputs(const plan::Task& task);
// What this job has put on a claim, and was not taken back, for people; empty: nothing.
std::string what_stays(const plan::Task& task, const plan::TaskOutput& output);
// Those of `outputs` that are present, signed by the job's attempt. → what people should know, a sentence each. Errors: denied, internal, that of
// `go_on`, which is asked as long as links' targets are copied.
Result<std::vector<std::string>> commit_outputs(Pending& pending, const std::vector<result::ReportedOutput>& outputs, const GoOn& go_on = {});

// What the outputs are now: when the program has ended well, but others that come from it live. Asked when they have ended. Error (input): an output
// has changed meanwhile.
PathSnapshots footprints_at_end(const plan::Task& task);
Result<void> check_unchanged(const PathSnapshots& at_end, const std::string& outlived);
// Error (input): an output is among the files that processes had open for writing as they were killed; it may hold half of a change.
Result<void> check_not_held(const plan::Task& task, const std::vector<std::string>& held);

// The files of those artifacts that are to be brought somewhere, links followed, by output name: when the program has ended, exactly these are what
// is to be delivered. Error (conflict): they are others by now.
using Trees = std::map<std::string, std::vector<objectstore::LocalFile>>;
Trees trees_at_end(const plan::Task& task);
Result<void> check_trees(const plan::Task& task, const Trees& at_end);

// An artifact is present when a regular file with content was written, or the program has named an address. Errors (input): a value that was not
// written or does not fit its type, an executor output that is no JSON.
Result<std::vector<result::ReportedOutput>> read_outputs(const plan::Task& task, const PathSnapshots& before);

// The curves of TensorBoard logs among those that are present, as this container's program has written them since `began`, when there was `before`.
// → what people should know, a sentence each.
std::vector<std::string> read_logs(const plan::Task& task, const PathSnapshots& before, Time began, std::vector<result::ReportedOutput>& outputs);

}  // namespace trainstep::agent
