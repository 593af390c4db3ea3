// What is written on a job when it is made, and must stand there: by it another attempt, and who only looks on, know the job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/json.h"

namespace trainstep::cluster {

// The release that has made the job: what its spec hash is made of may differ from ours.
inline constexpr std::string_view version_annotation = "trainstep.dev/version";

// "annotation trainstep.dev/spec-hash": the first of our labels and annotations that `sent` has and the API server's answer has not, or another
// value of it; "name", where the answer is of an object of another one. Empty: none, or the answer is no object.
std::string lost_mark(const Json& sent, const Json& answer);

// What to say of a job that is of another specification: "" if this release has made it.
std::string made_by_another(const Json& job);

}  // namespace trainstep::cluster
