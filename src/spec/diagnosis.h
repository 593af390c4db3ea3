// Explains to the user what was given in place of a training program. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"
#include "data/json.h"

namespace trainstep::spec {

// `document`: what was parsed from `text`; its format is unknown. The error names the probable mistake (a file name, the repr of a Python object, an
// unfilled placeholder, a Kubernetes manifest, a misspelled key), or else lists the supported formats.
Error explain_unknown(std::string_view text, const Json& document);

}  // namespace trainstep::spec
