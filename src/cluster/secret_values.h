// What must not be shown of a Secret that a step reads. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/json.h"

namespace trainstep::cluster {

// The values of a Secret and their base64, as texts to redact (base/redact.h): all but those whose key says that they are none, as a server, a
// bucket or a namespace; of a kubeconfig its tokens, passwords, keys and certificates. Of a
// Secret that is created here, values_of_secret() (data/secrets.h) has all values.
std::vector<std::string> secrets_of(const Json& secret);

}  // namespace trainstep::cluster
