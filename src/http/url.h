// An absolute http(s) URL as a value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace trainstep::http {

// Decoded names and values, in their original order.
using Query = std::vector<std::pair<std::string, std::string>>;

struct Url {
  std::string scheme;  // "https" or "http"
  std::string host;    // an IPv6 address without its brackets
  int port = 0;        // 0: the scheme's default
  std::string path;    // as sent: percent-encoded, "" or starts with '/'
  Query query;

  // "https://host:6443/base?a=b". A user or password is an error, a fragment is dropped. Errors: input.
  static Result<Url> parse(std::string_view text);

  // This URL with `segments` appended to the path, each percent-encoded.
  [[nodiscard]] Url with_path(const std::vector<std::string>& segments) const;
  // "https://host:6443"
  [[nodiscard]] std::string origin() const;
  // The complete, encoded URL that a client requests.
  [[nodiscard]] std::string text() const;
};

// RFC 3986: encodes everything except unreserved characters.
std::string percent_encoded(std::string_view text);

}  // namespace trainstep::http
