// SPDX-License-Identifier: Apache-2.0
#include "sim/store.h"

#include <algorithm>
#include <utility>

namespace trainstep::sim {

std::string Resource::group() const {
  const auto slash = group_version.find('/');
  return slash == std::string::npos ? std::string() : group_version.substr(0, slash);
}

std::string Resource::qualified() const {
  const auto its_group = group();
  return its_group.empty() ? plural : plural + "." + its_group;
}

const Json* dig(const Json& object, std::initializer_list<std::string_view> path) {
  const auto* at = &object;
  for (const auto key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
  }
  return at;
}

const Json& part_of(const Json& object, std::initializer_list<std::string_view> path) {
  static const Json nothing = Json::object();
  const auto* found = dig(object, path);
  return found != nullptr && found->is_object() ? *found : nothing;
}

std::string_view text_at(const Json& object, std::initializer_list<std::string_view> path) {
  const auto* found = dig(object, path);
  return found != nullptr && found->is_string() ? std::string_view(found->get_ref<const std::string&>()) : std::string_view();
}

std::int64_t number_at(const Json& object, std::initializer_list<std::string_view> path, std::int64_t otherwise) {
  const auto* found = dig(object, path);
  return found != nullptr && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

bool Version::owned_by(std::string_view owner_uid) const {
  const auto* owners = dig(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return false;
  for (const auto& owner : *owners)
    if (text_at(owner, {"uid"}) == owner_uid) return true;
  return false;
}

const std::string& Version::text() const {
  if (m_text.empty()) m_text = (shown.is_null() ? object : shown).dump();
  return m_text;
}

const std::string& Version::item_text() const {
  if (!resource->built_in) return text();
  if (m_item.empty()) {
    auto item = shown.is_null() ? object : shown;
    item.erase("apiVersion");
    item.erase("kind");
    m_item = item.dump();
  }
  return m_item;
}

const std::string& Version::metadata_text() const {
  if (m_metadata.empty())
    m_metadata = Json({{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", object.at("metadata")}}).dump();
  return m_metadata;
}

const Resource& Store::serve(Resource resource) {
  m_resources.push_back(std::move(resource));
  return m_resources.back();
}

const Resource* Store::resource(std::string_view group_version, std::string_view plural) const {
  for (const auto& resource : m_resources)
    if (resource.group_version == group_version && resource.plural == plural) return &resource;
  return nullptr;
}

VersionPtr Store::find(const Resource& resource, std::string_view name_space, std::string_view name) const {
  const auto found = m_objects.find({&resource, std::string(name_space), std::string(name)});
  return found == m_objects.end() ? nullptr : found->second;
}

VersionPtr Store::by_uid(std::string_view uid) const {
  const auto found = m_uids.find(uid);
  return found == m_uids.end() ? nullptr : m_objects.at(found->second);
}

std::vector<VersionPtr> Store::list(const Resource& resource, std::string_view name_space) const {
  std::vector<VersionPtr> result;
  for (auto at = m_objects.lower_bound({&resource, std::string(name_space), std::string()}); at != m_objects.end(); ++at) {
    if (std::get<0>(at->first) != &resource || (!name_space.empty() && std::get<1>(at->first) != name_space)) break;
    result.push_back(at->second);
  }
  return result;
}

std::vector<VersionPtr> Store::dependents(std::string_view owner_uid) const {
  std::vector<VersionPtr> result;
  const auto found = m_dependents.find(owner_uid);
  if (found == m_dependents.end()) return result;
  for (const auto& uid : found->second) result.push_back(by_uid(uid));
  // By name, so that the order is not chance.
  std::sort(result.begin(), result.end(), [](const VersionPtr& a, const VersionPtr& b) { return a->name() < b->name(); });
  return result;
}

void Store::index(const Version& version, bool present) {
  const auto* owners = dig(version.object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return;
  for (const auto& owner : *owners) {
    auto& uids = m_dependents[std::string(text_at(owner, {"uid"}))];
    if (present)
      uids.emplace(version.uid());
    else
      uids.erase(std::string(version.uid()));
  }
}

VersionPtr Store::create(const Resource& resource, Json object) {
  auto& metadata = object["metadata"];
  metadata["uid"] = m_random.uid();
  metadata["creationTimestamp"] = to_rfc3339(m_loop.now());
  metadata["resourceVersion"] = std::to_string(++m_number);
  auto version = std::make_shared<Version>();
  version->number = m_number;
  version->resource = &resource;
  version->object = std::move(object);
  if (m_show) m_show(*version);
  Key key{&resource, std::string(version->name_space()), std::string(version->name())};
  m_uids.emplace(version->uid(), key);
  index(*version, true);
  m_objects[std::move(key)] = version;
  happened({m_number, Happening::Sort::added, version, nullptr});
  return version;
}

VersionPtr Store::update(std::string_view uid, const std::function<void(Json&)>& change) {
  const auto key = m_uids.find(uid);
  if (key == m_uids.end()) return nullptr;
  auto& slot = m_objects.at(key->second);
  auto before = slot;
  auto version = std::make_shared<Version>();
  version->resource = before->resource;
  version->object = before->object;
  change(version->object);
  if (version->object == before->object) return before;
  const auto* finalizers = dig(version->object, {"metadata", "finalizers"});
  const bool goes = version->deleting() && (finalizers == nullptr || finalizers->empty()) &&
                    number_at(version->object, {"metadata", "deletionGracePeriodSeconds"}) == 0;
  version->number = ++m_number;
  version->object["metadata"]["resourceVersion"] = std::to_string(m_number);
  if (m_show) m_show(*version);
  index(*before, false);
  if (!goes) index(*version, true);
  if (goes) {
    m_objects.erase(key->second);
    m_uids.erase(key);
    happened({m_number, Happening::Sort::deleted, version, before});
  } else {
    slot = version;
    happened({m_number, Happening::Sort::modified, version, before});
  }
  return version;
}

void Store::remove(const VersionPtr& object) {
  const auto key = m_uids.find(object->uid());
  if (key == m_uids.end()) return;
  const auto before = m_objects.at(key->second);
  auto last = std::make_shared<Version>();
  last->number = ++m_number;
  last->resource = before->resource;
  last->object = before->object;
  last->object["metadata"]["resourceVersion"] = std::to_string(m_number);
  if (m_show) m_show(*last);
  index(*before, false);
  m_objects.erase(key->second);
  m_uids.erase(key);
  happened({m_number, Happening::Sort::deleted, last, before});
}

// A listener that changes something does so from a task of its own (post), so that all hear of changes in one order.
void Store::happened(const Happening& happening) {
  m_history.push_back(happening);
  m_history.back().at = m_loop.now();
  for (const auto& listener : m_listeners) listener(happening);
}

void Store::compact(std::uint64_t number) {
  m_compacted = std::max(m_compacted, std::min(number, m_number));
  while (!m_history.empty() && m_history.front().number <= m_compacted) m_history.pop_front();
}

}  // namespace trainstep::sim
