// AWS Signature Version 4 for S3: values in, values out (Amazon S3 API Reference, "Authenticating Requests (AWS Signature Version 4)").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace trainstep::objectstore {

// All secret except the access key.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token{};  // of temporary credentials; otherwise empty
  bool operator==(const Credentials&) const = default;
};

// For a body whose hash is not known when the headers are sent; only over TLS.
inline constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";

// Adds Host, X-Amz-Date, X-Amz-Content-Sha256, X-Amz-Security-Token and Authorization. All headers of the request are signed. `payload`: sha256_hex
// of the body, or unsigned_payload.
void sign(http::Request& request, const Credentials& keys, std::string_view region, std::string_view payload, Time now);

// A presigned URL: valid for `valid` (at most 7 days) without credentials. `url` may have a query.
http::Url presigned(std::string_view method, http::Url url, const Credentials& keys, std::string_view region, Duration valid, Time now);

}  // namespace trainstep::objectstore
