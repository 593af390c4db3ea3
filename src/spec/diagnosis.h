// What a text is that was given in place of a training program: for messages. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"
#include "data/json.h"

namespace trainstep::spec {

// `document`: what was read from `text`, no known format. The error says which mistake was probably made (a file name, the print of a Python object,
// a placeholder nobody filled in, a Kubernetes manifest, a misspelt key), else which formats there are.
Error explain_unknown(std::string_view text, const Json& document);

}  // namespace trainstep::spec
