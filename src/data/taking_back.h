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

// What the signer has put there is in place.path again, and what had given way is in its place; whoever calls holds place.folder. None: it is not the
// signer's, or is a mount, of which nothing is taken back. Errors: denied, input (what lies in place.path cannot be removed), internal.
Result<std::optional<Restored>> take_back(const OutputPlace& place, const std::string& signer);

// The run has succeeded: what gave way for its output, and was an earlier run's, goes. Errors: those of remove_tree().
Result<void> confirm_output(const std::filesystem::path& target, const std::string& signer);

// What gave way to one run after another, as long as none of them is confirmed.
std::vector<std::filesystem::path> olds_in(const std::filesystem::path& folder);

}  // namespace trainstep
