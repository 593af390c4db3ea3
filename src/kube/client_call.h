// The state of a Client's call in progress.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kube/client.h"

namespace trainstep::kube {

// Interval between checks whether a token is available.
inline constexpr Duration token_look{20};

// The pages of a collection received so far.
struct Client::Listing {
  Shape shape;
  Json items = Json::array();
  std::set<std::string> tokens;  // continue tokens received so far
  int expired = 0;               // number of times that one has expired
};

struct Client::Call {
  http::Request request;
  std::string what;
  std::vector<std::string> secrets;  // in the request
  Done done;
  int tries = 0;
  int hurried = 0;                           // attempts since hurry()
  bool refused = false;                      // the last response was 401
  int unauthorized = 0;                      // number of 401 responses, including those with a token that was read again
  std::string names;                         // the object that a 2xx must be about; empty: anything
  std::string changes;                       // the object of a patch: transient errors (is_of_the_moment) are retried as well …
  bool versioned = false;                    // … except conflicts: the patch is for one version
  int moments = 0;                           // number of such errors
  Duration longest_pause = Duration::max();  // for a patch, whatever the server requests: a job that is kept must not be lost by it
  bool late = false;                         // no further attempt
  bool silence_counts = true;
  bool surely_there = false, doubts_refusals = false;
  http::Transport::Id exchange = 0;
  Timer pause;
  Timer limit;
  std::optional<ApiError> error;  // during the pause
  std::unique_ptr<Listing> listing;
};

}  // namespace trainstep::kube
