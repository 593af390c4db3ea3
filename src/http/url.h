// An absolute http(s) address as a value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace trainstep::http {

// Names and values as they are meant, not encoded; the order is kept.
using Query = std::vector<std::pair<std::string, std::string>>;

struct Url {
  std::string scheme;  // "https" or "http"
  std::string host;    // an IPv6 address without its brackets
  int port = 0;        // 0: the scheme's own
  std::string path;    // as it goes over the wire: percent-encoded, "" or starts with '/'
  Query query;

  // "https://host:6443/base?a=b". User and password in it are refused, a fragment is dropped. Errors: input.
  static Result<Url> parse(std::string_view text);

  // This address with `segments` appended to the path, each percent-encoded.
  [[nodiscard]] Url with_path(const std::vector<std::string>& segments) const;
  // "https://host:6443"
  [[nodiscard]] std::string origin() const;
  // With everything, encoded: what a client sends.
  [[nodiscard]] std::string text() const;
};

// RFC 3986: everything but the unreserved characters.
std::string percent_encoded(std::string_view text);

}  // namespace trainstep::http
