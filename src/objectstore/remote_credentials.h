// Temporary keys that a service gives out, as AWS's SDKs find them in the environment of a pod (SDKs and Tools Reference Guide, "Standardized
// credential providers").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "http/transport.h"
#include "objectstore/credentials.h"

namespace trainstep::objectstore {

// In this order: AWS_ACCESS_KEY_ID …; a web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN: roles for service accounts), exchanged at the
// security token service of AWS_REGION, else of `region`; a container's credentials (AWS_CONTAINER_CREDENTIALS_FULL_URI or …_RELATIVE_URI: Pod
// Identity, ECS). What is temporary is kept until five minutes before its end. Without any of them, questions are answered with an error (input) that
// tells so.
std::shared_ptr<CredentialsProvider> keys_of(Loop& loop, http::Transport& transport, const std::map<std::string, std::string>& environment,
                                             std::string_view region);

// Error (denied): none of these is there. Whoever only tidies up need not ask a store to know that it may not.
Result<void> check_keys(const std::map<std::string, std::string>& environment);

}  // namespace trainstep::objectstore
