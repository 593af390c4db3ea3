// SPDX-License-Identifier: Apache-2.0
#include "cluster/pod_index.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"

namespace trainstep::cluster {
namespace {

std::vector<std::string> keys_of(const std::string& selector) {
  std::vector<std::string> keys;
  for (const auto part : split(selector, ',')) keys.emplace_back(part.substr(0, part.find('=')));
  return keys;
}

// Pods can be created with any labels; controllers set the owner. Between an MPIJob and the pod of its launcher is a Job, of
// which only the name is known.
bool is_owned(const Json& metadata, const std::string& job_uid, const std::string& launcher) {
  const auto* owners = trainstep::find(metadata, "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return false;
  const auto is = [](const Json& owner, std::string_view key, const std::string& wanted) {
    const auto* value = owner.is_object() ? trainstep::find(owner, key) : nullptr;
    return value != nullptr && *value == wanted;
  };
  return std::ranges::any_of(*owners, [&](const Json& owner) {
    return is(owner, "uid", job_uid) || (!launcher.empty() && is(owner, "kind", "Job") && is(owner, "name", launcher));
  });
}

bool is_older(const Json& metadata, const std::string& job_created) {
  const auto* own = trainstep::find(metadata, "creationTimestamp");
  const auto created = own != nullptr && own->is_string() ? from_rfc3339(own->get_ref<const std::string&>()) : std::nullopt;
  const auto job = from_rfc3339(job_created);
  return created && job && *created < *job;
}

}  // namespace

PodIndex::PodIndex(const job_types::JobType& job_type, const job_types::Resource& resource, const std::string& job_name,
                   const std::vector<job_types::Replicas>& replicas)
    : m_launcher(job_types::launcher_job(resource, job_name)) {
  follow::MemberIndex member = 0;
  for (const auto& type : replicas) {
    for (int index = 0; index < type.count; ++index, ++member) {
      auto selector = job_type.pods(job_name, resource, type.type, index);
      auto keys = keys_of(selector);
      if (std::ranges::find(m_keys, keys) == m_keys.end()) m_keys.push_back(std::move(keys));
      m_members[std::move(selector)] = member;
    }
  }
  // The longest first: the selector of a launcher may be a part of a worker's.
  std::ranges::sort(m_keys, [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::optional<follow::MemberIndex> PodIndex::member_of(const Json& pod, const std::string& job_uid, const std::string& job_created) const {
  const auto* metadata = pod.is_object() ? trainstep::find(pod, "metadata") : nullptr;
  if (metadata == nullptr || !metadata->is_object() || !is_owned(*metadata, job_uid, m_launcher) || is_older(*metadata, job_created))
    return std::nullopt;
  const auto* labels = trainstep::find(*metadata, "labels");
  if (labels == nullptr || !labels->is_object()) return std::nullopt;
  for (const auto& keys : m_keys) {
    std::string selector;
    for (const auto& key : keys) {
      const auto* value = trainstep::find(*labels, key);
      if (value == nullptr || !value->is_string()) break;
      if (!selector.empty()) selector += ',';
      selector += key + '=' + value->get_ref<const std::string&>();
    }
    if (const auto found = m_members.find(selector); found != m_members.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace trainstep::cluster
