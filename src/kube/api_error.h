// Error responses of the API server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/error.h"
#include "base/time.h"
#include "data/json.h"

namespace trainstep::kube {

struct ApiError {
  Error error;                          // kind by the table in api_error.cpp; the message contains the server's own
  int status = 0;                       // HTTP status; 0: no response
  std::string reason;                   // Status.reason: "AlreadyExists", "Expired", "Forbidden", …; may be empty
  Json details;                         // Status.details; null if absent
  std::optional<Duration> retry_after;  // Retry-After: the minimum delay before the next attempt
  bool is_status = false;               // the body was a Status object: the response came from an API server
};

using Answer = tl::expected<Json, ApiError>;

// Whether the same request may succeed later: no response, 408, 429, 5xx except 501 and 505 (an unreachable webhook is a 500, and so are responses of
// API servers that are starting), and admission without a decision, for example because of concurrent writes to a quota. Nothing else.
bool retryable(const ApiError& error);

// The request was not sent, because the exec plug-in has not returned a token after TokenSource::hurry: neither a response nor a time-out. The next
// request may succeed.
bool lacks_token(const ApiError& error);

// Whether an error about this object, whose request the API server has not carried out, may be transient: 409 caused by another writer, 403 from an
// authorizer that has just started, a 404 that is not about the object.
bool is_transient(const ApiError& error, std::string_view name);

// A 3xx or 4xx that is not from an API server but from a gateway before it: whether the request was carried out is unknown. Not 401, and not 413,
// which a gateway returns because of the request itself.
bool says_nothing(const ApiError& error);

// A refusal by an API server that has just started and knows no permissions yet, or by a gateway before it: it may say nothing about the object.
bool is_odd(const ApiError& error, std::string_view name);

// The API server says that no object with this name exists. Any other 404 is from a gateway, or about a path that is temporarily not served, and says
// nothing about the object.
bool tells_absent(const ApiError& error, std::string_view name);
// The API server says that it has no such path: the resource is not served.
bool tells_not_served(const ApiError& error);

// The error for a 2xx that is not from an API server but from a gateway before it: treated like a gateway's 502.
ApiError not_the_servers(std::string message);
inline constexpr std::string_view not_the_servers_reason = "NotTheServers";

// The error for a response that is not 2xx. `what`: "create pytorchjobs/train-1", for the message.
ApiError api_error(const std::string& what, int status, const std::string& body, std::optional<Duration> retry_after);

}  // namespace trainstep::kube
