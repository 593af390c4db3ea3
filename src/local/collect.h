// What the program left: values from its files and from the executor output of KFP v2, artifacts where they lie.
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

// By output name: what was there before the run, or before an attempt.
using PathSnapshots = std::map<std::string, PathSnapshot>;
PathSnapshots footprints_of(const Place& place, const Vanishes& vanishes = {});

// Values that an earlier attempt of this run left would be taken for results of the next: they are removed, unless they were there before the run.
// Artifacts stay: a program may resume from what it has saved.
void remove_stale_values(const plan::Plan& plan, const Place& place, const PathSnapshots& before);

// What the outputs are when the program's first process has ended well: who was left running by it, or ends badly after it, may not have written any
// more. Taken then, asked when `others`, a sentence's part, have ended. Error (input): an output has changed.
PathSnapshots footprints_at_end(const Place& place, const Vanishes& vanishes);
Result<void> check_unchanged(const PathSnapshots& at_end, const std::string& others);

// In the program's order. A value comes from the executor output if it stands there, else from its own file, read as its declared type
// (docs/design/kfp.md, Output values); NaN and infinities are values of a number. An artifact is present when a regular file with content was
// written since `before`, when there is one where the program says that it lies, or that is a complete address (spec/named_place.h), or when the
// program set metadata for it (docs/design/kfp.md, Executor output); then `earlier` tells that there is no file of this run. `before`: as the
// attempt began that has succeeded. Errors (input): a declared value that was not written or does not fit; an executor output that is no JSON.
Result<std::vector<run::OutputFound>> collect_outputs(const plan::Plan& plan, const Place& place, const PathSnapshots& before);

// For people: "3 files (12 MiB)", of all that are not empty at a path or below it; empty: there are none.
std::string describe_files(const std::filesystem::path& path);

}  // namespace trainstep::local
