// Where an object, or a tree of objects, lies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http/url.h"

namespace trainstep::objectstore {

// "s3://bucket/some/key": S3 and what speaks like it. A KFP pipeline root may carry a query (Go CDK: endpoint, region, disableSSL, …).
struct Address {
  std::string scheme;  // "s3", "minio" (KFP's own store) or "gs"
  std::string bucket;
  std::string key;  // as it is meant, not encoded, without '/' at its ends; empty: the bucket's root
  http::Query query{};

  // Errors: input, for other schemes, no bucket, or a bucket that cannot be one.
  static Result<Address> parse(std::string_view text);
  // Without the query.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Address child(std::string_view relative) const;
};

// Whether a text is meant to be such an address.
bool is_address(std::string_view text);

}  // namespace trainstep::objectstore
