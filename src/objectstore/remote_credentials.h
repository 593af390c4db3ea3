// Temporary credentials from a service, as AWS's SDKs find them in the environment of a pod (SDKs and Tools Reference Guide, "Standardized credential
// providers").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "http/transport.h"
#include "objectstore/credentials.h"

namespace trainstep::objectstore {

// In this order: AWS_ACCESS_KEY_ID …; a web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN: IAM roles for service accounts), exchanged at the
// security token service (STS) of AWS_REGION, otherwise of `region`; container credentials (AWS_CONTAINER_CREDENTIALS_FULL_URI or …_RELATIVE_URI: Pod
// Identity, ECS). Temporary credentials are cached until five minutes before they expire. Without any of these, ask() fails with an error (input)
// that says so.
std::shared_ptr<CredentialsProvider> keys_of(Loop& loop, http::Transport& transport, const std::map<std::string, std::string>& environment,
                                             std::string_view region);

// Error (denied): none of these is set. Lets clean-up skip a store that would only refuse access.
Result<void> check_keys(const std::map<std::string, std::string>& environment);

}  // namespace trainstep::objectstore
