// The names under which jobs and pods of ours can be found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::plan::label {

inline constexpr std::string_view run_id = "trainstep.dev/run-id";        // label: Plan::run_id
inline constexpr std::string_view spec_hash = "trainstep.dev/spec-hash";  // annotation: Plan::spec_hash
inline constexpr std::string_view managed_by = "app.kubernetes.io/managed-by";
inline constexpr std::string_view program = "trainstep";                  // value of managed_by

}  // namespace trainstep::plan::label
