// The working directory of each member of the gang, and the paths of its inputs and outputs.
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
  // Folders below run_dir that are created for the member and its outputs; a link in their place would redirect writes and removals.
  std::set<std::filesystem::path> own_folders = {};
};

// The primary writes to the step's paths, and to <run_dir>/outputs/<output> for outputs without one; every other replica writes to
// <run_dir>/<member>/outputs/<output>. The processes of one replica share its files and folders, as in a pod; the values that a process returns are
// its own. `run_dir` must be absolute. Error (input): an input that has no path on this machine, an output whose name is not a valid file name.
Result<Place> place_of(const plan::Plan& plan, const std::filesystem::path& run_dir, const GangMember& member);

// Whether a member writes this output to the step's path for it, not to the run folder.
bool is_at_step_path(const plan::Plan& plan, const GangMember& member, const plan::BoundOutput& output);

// What a run empties when it reuses `run_dir`: <run_dir>/bin, followed by the existing outputs of an earlier run. Errors: those of place_of() and
// check_no_links().
Result<std::vector<std::string>> emptied_places(const plan::Plan& plan, const std::filesystem::path& run_dir);

// What belongs to the run in `run_dir`: its mark, a file, followed by bin, outputs, the folders of the members and their outputs. Errors: those of
// place_of().
Result<std::vector<std::string>> own_places(const plan::Plan& plan, const std::filesystem::path& run_dir);

// Error (input): a path of the program's inputs or outputs is not UTF-8, which the JSON passed to the program, and the results, require.
Result<void> check_path_texts(const plan::Plan& plan, const std::filesystem::path& run_dir);

// Error (input): there is a link in the place of one of the run's own folders.
Result<void> check_no_links(const Place& place);

// Creates the folders that the program may expect: its own, and the parents of its outputs (docs/design/kfp.md, Local paths), not the outputs
// themselves. Errors: those of check_no_links() and make_directories().
Result<void> make_folders(const Place& place);

}  // namespace trainstep::local
