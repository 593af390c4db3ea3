// Where each member of the gang works, and where its inputs and outputs are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/gang.h"
#include "plan/plan.h"

namespace trainstep::local {

struct Place {
  std::filesystem::path folder;  // <run_dir>/<member>: the working directory
  plan::Placement placement;     // absolute paths
  // Below run_dir, what the run makes for it and for its outputs; a link in their place would have it write, and remove, elsewhere.
  std::set<std::filesystem::path> own_folders = {};
};

// The primary writes to the step's paths, and to <run_dir>/outputs/<output> what has none; every other replica to
// <run_dir>/<member>/outputs/<output>. The processes of one replica share its files and folders, as they do in a pod; the values that one returns are
// its own. `run_dir` must be absolute. Error (input): an input that has no path on this machine, an output whose name no file can have.
Result<Place> place_of(const plan::Plan& plan, const std::filesystem::path& run_dir, const GangMember& member);

// Whether a member writes this output to the path of the step that it is bound to, not to a place in the run's folder.
bool is_at_step_path(const plan::Plan& plan, const GangMember& member, const plan::BoundOutput& output);

// What a run empties that begins in `run_dir` again: <run_dir>/bin, and behind it the outputs of an earlier run that are there. Errors: those of
// place_of() and check_no_links().
Result<std::vector<std::string>> emptied_places(const plan::Plan& plan, const std::filesystem::path& run_dir);

// Error (input): a path of the program's inputs or outputs is no UTF-8, as the JSON that tells the program of them, and results, must be.
Result<void> check_path_texts(const plan::Plan& plan, const std::filesystem::path& run_dir);

// Error (input): a link stands where a folder of the run's own belongs.
Result<void> check_no_links(const Place& place);

// Makes the folders that the program may expect: its own, and the parents of its outputs (docs/design/kfp.md, Local paths), not the outputs
// themselves. Errors: those of check_no_links() and make_directories().
Result<void> make_folders(const Place& place);

}  // namespace trainstep::local
