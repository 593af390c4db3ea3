// Reverting or confirming a signed output (signature.h) once the outcome of its run is known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/output_paths.h"

namespace trainstep {

// Whether the contents displaced by a reverted output were restored.
enum class Restored { nothing, yes };

// Moves what the signer put at the target back to place.path and restores what it displaced; the caller holds the lock on place.folder, and `owner`
// is noted there. nullopt: the output is not the signer's, has changed since, or is a mount, which is never reverted. Errors: denied, input (the
// contents of place.path cannot be removed), internal; the output is then where it was.
Result<std::optional<Restored>> take_back(const OutputPaths& place, const std::string& signer, const std::string& owner);

// The same for callers that do not write there afterwards. Additional error: conflict, another run is writing there.
struct Reverted {
  Restored restored;
  std::filesystem::path where;  // kept until the next run with this target
};
// As above, but takes the lock itself and releases it.
Result<std::optional<Reverted>> take_back(const std::filesystem::path& target, const std::string& signer);

// For messages: "model: the training's output stays at …", and where the displaced contents are. Empty: the output there is not the signer's.
// Why::told adds the reason why take_back() reverted nothing.
enum class Why { untold, told };
std::string describe_staying(const std::string& output, const std::filesystem::path& target, const std::string& signer, Why why);

// After a successful run: removes the contents that its output displaced. Errors: those of remove_tree().
Result<void> confirm_output(const std::filesystem::path& target, const std::string& signer);

// Contents displaced by successive runs, none of which has been confirmed.
std::vector<std::filesystem::path> displaced_in(const std::filesystem::path& folder);

}  // namespace trainstep
