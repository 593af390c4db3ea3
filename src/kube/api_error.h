// What the API server answers when it does not do what was asked.
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
  Error error;                          // kind by the table in api_error.cpp; the message holds the server's own
  int status = 0;                       // HTTP; 0: no answer came
  std::string reason;                   // Status.reason: "AlreadyExists", "Expired", "Forbidden", …; may be empty
  Json details;                         // Status.details; null if absent
  std::optional<Duration> retry_after;  // Retry-After: a floor for the next try
  bool is_status = false;               // it was a Status: who answered was an API server
};

using Answer = tl::expected<Json, ApiError>;

// Whether the same request may succeed later: no answer, 408, 429 and 5xx (a webhook that cannot be reached is a 500, and API servers answer so while
// they start) but 501 and 505, and admission that has not come to a judgement, as of a quota whose count two have written at once; no other.
bool retryable(const ApiError& error);

// The request was not sent, as the exec plug-in gave no token to who is in a hurry (TokenSource::hurry): no server's word nor silence. The next may.
bool lacks_token(const ApiError& error);

// Whether a request about this object, which the API server has not carried out, may only have come at a bad moment: 409 of another writer, 403 of an
// authorizer that has just been started, a 404 that is not the object's.
bool is_of_the_moment(const ApiError& error, std::string_view name);

// A 3xx or 4xx in which no API server speaks, but a gateway before it: what it has done with the request is not known. Not 401, nor 413, which a
// gateway says of the request itself.
bool says_nothing(const ApiError& error);

// The API server says that there is no object of this name. Any other 404 is a gateway's, or of a path that is not served just now: of the object it
// says nothing.
bool tells_absent(const ApiError& error, std::string_view name);
// The API server says that it has no such path: the resource is not served here.
bool tells_not_served(const ApiError& error);

// A 2xx that no API server has written, but whoever stands before it: as good as a gateway's 502.
ApiError not_the_servers(std::string message);
inline constexpr std::string_view not_the_servers_reason = "NotTheServers";

// A response that is no 2xx. `what`: "create pytorchjobs/train-1", for the message.
ApiError api_error(const std::string& what, int status, const std::string& body, std::optional<Duration> retry_after);

}  // namespace trainstep::kube
