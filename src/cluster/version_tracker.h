// The last seen versions of objects. Watches, lists and GETs may be answered by several API servers, some of which may lag. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "data/json.h"

namespace trainstep::cluster {

class VersionTracker {
 public:
  // False: this state is older than one that was seen of the same object (kube/version.h). Many such states in a row are accepted, and several over
  // minutes: a server restored from a backup has no others.
  bool take(const Json& object, Time now);
  // Whether a list of that version must have the object if it still exists as it was seen.
  [[nodiscard]] bool covers(const std::string& list_version, const std::string& uid) const;

 private:
  struct Seen {
    std::string version;
    int older = 0;  // consecutive states that were …
    Time since{};   // … from then on
  };
  std::map<std::string, Seen> m_seen;  // by uid
};

}  // namespace trainstep::cluster
