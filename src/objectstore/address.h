// The address of an object, or of a tree of objects.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http/url.h"

namespace trainstep::objectstore {

// "s3://bucket/some/key": S3 and compatible stores. A KFP pipeline root may have a query (Go CDK: endpoint, region, disableSSL, …).
struct Address {
  std::string scheme;  // "s3", "minio" (KFP's own store) or "gs"
  std::string bucket;
  std::string key;  // decoded, without leading or trailing '/'; empty: the bucket's root
  http::Query query{};

  // Errors: input, for other schemes, a missing or an invalid bucket name.
  static Result<Address> parse(std::string_view text);
  // Without the query.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Address child(std::string_view relative) const;
};

// Whether a text has the scheme of such an address.
bool is_address(std::string_view text);

}  // namespace trainstep::objectstore
