// What becomes of a signed output (signature.h) once it is known how its run has ended: its signer takes it back, or confirms it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/output_place.h"

namespace trainstep {

// Whether what had given way for an output that was taken back is in its place again.
enum class Restored { nothing, yes };

// What the signer has put there is in place.path again, and what had given way is in its place; whoever calls holds place.folder, and `owner` is
// noted there. None: it is not the signer's, somebody has changed it since, or it is a mount, of which nothing is taken back. Errors: denied, input
// (what lies in place.path cannot be removed), internal; it is where it was.
Result<std::optional<Restored>> take_back(const OutputPlace& place, const std::string& signer, const std::string& owner);

// The same for whoever does not write there afterwards. Error as well: conflict, another run writes there.
struct TakenBack {
  Restored restored;
  std::filesystem::path where;  // until the next run with this target
};
Result<std::optional<TakenBack>> take_back(const std::filesystem::path& target, const std::string& signer);

// For people: "model: what the training has put at … stays there", and where what gave way lies. Empty: the signer's does not lie there. `why`: for a
// taking back that takes nothing.
enum class Why { untold, told };
std::string describe_staying(const std::string& output, const std::filesystem::path& target, const std::string& signer, Why why);

// The run has succeeded: what gave way for its output, and was an earlier run's, goes. Errors: those of remove_tree().
Result<void> confirm_output(const std::filesystem::path& target, const std::string& signer);

// What gave way to one run after another, as long as none of them is confirmed.
std::vector<std::filesystem::path> olds_in(const std::filesystem::path& folder);

}  // namespace trainstep
