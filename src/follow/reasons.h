// Reasons of a Judgement that no controller sets: what is known beyond the status of the job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::follow {

// It was kept for the next attempt of its step (KeepJob), and its deadline passed before one started.
inline constexpr std::string_view kept_in_vain = "KeptInVain";

// Another client is deleting it; the message names the finalizers that hold it. Only for a job that has not ended.
inline constexpr std::string_view being_deleted = "BeingDeleted";

}  // namespace trainstep::follow
