// What a job must have since its creation, so that other attempts and attached commands recognize it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/json.h"

namespace trainstep::cluster {

// The release that created the job: it may compute the spec hash from other things than ours.
inline constexpr std::string_view version_annotation = "trainstep.dev/version";

// "annotation trainstep.dev/spec-hash": the first of our labels and annotations that `sent` has and the response of the API server does not, or with
// another value; "name", if the response is an object of another name. Empty: none, or the response is not an object.
std::string lost_mark(const Json& sent, const Json& answer);

// What to add to the message about a job with another specification: "" if this release created it.
std::string made_by_another(const Json& job);

}  // namespace trainstep::cluster
