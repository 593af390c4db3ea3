// SPDX-License-Identifier: Apache-2.0
#include "cluster/freshness.h"

#include "cluster/objects.h"
#include "kube/version.h"

namespace trainstep::cluster {
namespace {

constexpr int most_older = 20;

}  // namespace

bool Freshness::take(const Json& object) {
  auto& seen = m_seen[uid_of(object)];
  const auto version = text(metadata_of(object), "resourceVersion");
  if (kube::is_older_version(version, seen.version) && ++seen.older <= most_older) return false;
  seen.older = 0;
  if (!version.empty()) seen.version = version;
  return true;
}

bool Freshness::covers(const std::string& list_version, const std::string& uid) const {
  const auto seen = m_seen.find(uid);
  return seen == m_seen.end() || !kube::is_older_version(list_version, seen->second.version);
}

}  // namespace trainstep::cluster
