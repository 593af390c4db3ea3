// Collects what the program has written: values from its files and from the KFP v2 executor output, artifacts from their paths.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/path_snapshot.h"
#include "local/place.h"
#include "plan/plan.h"
#include "run/backend.h"

namespace trainstep::local {

// By output name: what existed before the run, or before an attempt.
using PathSnapshots = std::map<std::string, PathSnapshot>;
PathSnapshots footprints_of(const Place& place, const IsTemporary& vanishes = {});

// Removes values of an earlier attempt of this run, unless they existed before the run: they would be taken for results of the next attempt.
// Artifacts stay: a program may resume from what it has saved.
void remove_stale_values(const plan::Plan& plan, const Place& place, const PathSnapshots& before);

// The outputs as they are once the program's first process has succeeded: processes that it left running, or that fail later, must not write any
// more. Take the snapshots then, and check them once `others`, part of a sentence, have ended. Error (input): an output has changed.
PathSnapshots footprints_at_end(const Place& place, const IsTemporary& vanishes);
Result<void> check_unchanged(const PathSnapshots& at_end, const std::string& others);

// In the program's order. A value is taken from the executor output if it is there, otherwise from its own file, and parsed as its declared type
// (docs/design/kfp.md, Output values); NaN and infinities are valid numbers. An artifact is present if a non-empty regular file was written since
// `before`, if there is one at the place that the program names, or that place is a complete address (spec/reported_location.h), or if the program
// set metadata for it (docs/design/kfp.md, Executor output); in the last case `earlier` means that there is no file of this run. `before`: taken at
// the start of the successful attempt. Errors (input): a declared value that was not written or does not fit its type; an executor output that is not
// JSON.
Result<std::vector<run::OutputFound>> collect_outputs(const plan::Plan& plan, const Place& place, const PathSnapshots& before);

// For messages: "3 files (12 MiB)", counting the non-empty files at or below a path; "" if there are none.
std::string describe_files(const std::filesystem::path& path);

}  // namespace trainstep::local
