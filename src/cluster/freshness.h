// What was seen of objects last. Watches, lists and GETs may be answered by several API servers, of which some are behind the others. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "data/json.h"

namespace trainstep::cluster {

class Freshness {
 public:
  // False: this state is older than what has been seen of that very object (kube/version.h). Many such in a row are believed, and several over
  // minutes: a server that was restored from a backup has no others.
  bool take(const Json& object, Time now);
  // Whether a list of that version holds the object if it is still there as it was seen.
  [[nodiscard]] bool covers(const std::string& list_version, const std::string& uid) const;

 private:
  struct Seen {
    std::string version;
    int older = 0;  // states in a row that were …
    Time since{};   // … from then on
  };
  std::map<std::string, Seen> m_seen;  // by uid
};

}  // namespace trainstep::cluster
