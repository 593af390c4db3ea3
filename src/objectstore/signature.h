// AWS Signature Version 4 for S3: values in, values out (Amazon S3 API Reference, "Authenticating Requests (AWS Signature Version 4)").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"
#include "objectstore/signing_keys.h"

namespace trainstep::objectstore {

// All secret except the access key.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token{};  // of temporary credentials; otherwise empty
  SigningKeys signing_keys{};   // in place of an empty secret key
  bool operator==(const Credentials&) const = default;
};

// Adds Host, X-Amz-Date, X-Amz-Content-Sha256, X-Amz-Security-Token and Authorization. All headers of the request are signed. `payload`: sha256_hex
// of the body. Errors: there is no signing key for the region (input), or for the day (unavailable: it may come).
Result<void> sign(http::Request& request, const Credentials& keys, std::string_view region, std::string_view payload, Time now);

}  // namespace trainstep::objectstore
