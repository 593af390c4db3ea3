// What a Client knows of a call under way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kube/client.h"

namespace trainstep::kube {

// Between two looks whether there is a token by now.
inline constexpr Duration token_look{20};

// All pages of a collection as they come.
struct Client::Listing {
  Shape shape;
  Json items = Json::array();
  std::set<std::string> tokens;  // to continue, that were answered so far
  int expired = 0;               // of them
};

struct Client::Call {
  http::Request request;
  std::string what;
  std::vector<std::string> secrets;  // that the request carries
  Done done;
  int tries = 0;
  int hurried = 0;                           // those since there is little time
  bool refused = false;                      // the last answer was 401
  int unauthorized = 0;                      // such answers, also with a token that was read anew
  std::string names;                         // the object that a 2xx must speak of; empty: whatever it says
  std::string changes;                       // the object that a patch is for: what may be of the moment is tried again, too …
  bool versioned = false;                    // … but no conflict: it is for one version
  int moments = 0;                           // such answers
  Duration longest_pause = Duration::max();  // of a patch, whatever a server wishes: a kept job must not be lost by it
  bool late = false;                         // no further try
  bool silence_counts = true;
  bool surely_there = false;
  http::Transport::Id exchange = 0;
  Loop::TimerId pause = 0;
  Loop::TimerId limit = 0;
  std::optional<ApiError> error;  // while it pauses
  std::unique_ptr<Listing> listing;
};

}  // namespace trainstep::kube
