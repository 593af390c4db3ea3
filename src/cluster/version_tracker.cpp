// SPDX-License-Identifier: Apache-2.0
#include "cluster/version_tracker.h"

#include <chrono>

#include "cluster/objects.h"
#include "kube/version.h"

namespace trainstep::cluster {
namespace {

constexpr int max_older = 20;
constexpr int several = 3;
constexpr std::chrono::minutes long_since{2};

}  // namespace

bool VersionTracker::take(const Json& object, Time now) {
  auto& seen = m_seen[uid_of(object)];
  const auto version = text(metadata_of(object), "resourceVersion");
  if (kube::is_older_version(version, seen.version)) {
    if (++seen.older == 1) seen.since = now;
    if (seen.older <= max_older && (seen.older < several || now - seen.since < long_since)) return false;
  }
  seen.older = 0;
  if (!version.empty()) seen.version = version;
  return true;
}

bool VersionTracker::covers(const std::string& list_version, const std::string& uid) const {
  const auto seen = m_seen.find(uid);
  return seen == m_seen.end() || !kube::is_older_version(list_version, seen->second.version);
}

}  // namespace trainstep::cluster
