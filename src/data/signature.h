// Records which run put an output in its place, so that it can be checked later whether the output is still that run's. For places that several runs
// share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/output_paths.h"

namespace trainstep {

// `aside`: where the displaced contents are. Errors: those of OutputPlace::note().
Result<void> sign(const OutputPaths& place, const std::string& signer, const std::optional<std::filesystem::path>& aside);

// Removes the signature after a commit without signer.
void unsign(const OutputPaths& place);
// Removes a signature stored next to the target, after the signed output was moved away: it does not apply to what is there now.
void forget_signature_beside(const OutputPaths& place);

// `touched`: files of the same names and sizes, but written since, or links with other targets; on a file system that shows other times on another
// machine, possibly unchanged. `changed`: other files. `unknown`: the file system would not show here what was noted elsewhere.
enum class Signed { yes, touched, changed, no, unknown };
Signed signed_by(const std::filesystem::path& target, const std::string& signer);

// Where the contents that it displaced are, if they still exist.
std::optional<std::filesystem::path> displaced_path(const OutputPaths& place);

}  // namespace trainstep
