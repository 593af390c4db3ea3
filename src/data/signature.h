// Who has put an output in its place, noted there: whoever comes later can tell whether it is still theirs. For places that several runs share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/output_place.h"

namespace trainstep {

// `aside`: where what gave way lies. Errors: those of OutputPlace::note().
Result<void> sign(const OutputPlace& place, const std::string& signer, const std::optional<std::filesystem::path>& aside);

// Somebody who does not sign has put something there.
void unsign(const OutputPlace& place);
// What was signed has been moved away: what is noted beside it is not of what lies there now.
void forget_signature_beside(const OutputPlace& place);

// `touched`: files of the same names and sizes, but written since, or links that lead elsewhere; on a file system that shows other times on another
// machine, perhaps just that. `changed`: other files. `unknown`: the file system would not show here what was noted elsewhere.
enum class Signed { yes, touched, changed, no, unknown };
Signed signed_by(const std::filesystem::path& target, const std::string& signer);

// What gave way for it, if it is there still.
std::optional<std::filesystem::path> gave_way(const OutputPlace& place);

}  // namespace trainstep
