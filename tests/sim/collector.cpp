// SPDX-License-Identifier: Apache-2.0
#include "sim/collector.h"

#include <algorithm>

namespace trainstep::sim {
namespace {

constexpr std::string_view foreground_finalizer = "foregroundDeletion";
constexpr std::string_view orphan_finalizer = "orphan";

bool has_finalizer(const Json& object, std::string_view name) {
  const auto* finalizers = dig(object, {"metadata", "finalizers"});
  return finalizers != nullptr && std::find(finalizers->begin(), finalizers->end(), name) != finalizers->end();
}

void set_finalizer(Json& object, std::string_view name, bool wanted) {
  auto& metadata = object["metadata"];
  auto finalizers = metadata.contains("finalizers") ? metadata["finalizers"] : Json::array();
  finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), name), finalizers.end());
  if (wanted) finalizers.push_back(name);
  if (finalizers.empty())
    metadata.erase("finalizers");
  else
    metadata["finalizers"] = std::move(finalizers);
}

// Seconds until the kubelet must have ended it; 0: not required (not scheduled, or over).
std::int64_t grace_of(const Version& object) {
  if (object.resource->plural != "pods" || text_at(object.object, {"spec", "nodeName"}).empty()) return 0;
  const auto phase = text_at(object.object, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return 0;
  return number_at(object.object, {"spec", "terminationGracePeriodSeconds"}, 30);
}

}  // namespace

Collector::Collector(Store& store, Random random) : m_store(store), m_random(random) {
  m_store.listen([this](const Happening& happening) { heard(happening); });
}

VersionPtr Collector::remove(const VersionPtr& object, Propagation propagation, std::optional<std::int64_t> grace_seconds) {
  const auto grace = std::min(grace_of(*object), grace_seconds.value_or(1'000'000));
  m_store.update(object->uid(), [&](Json& changed) {
    set_finalizer(changed, foreground_finalizer, propagation == Propagation::foreground);
    set_finalizer(changed, orphan_finalizer, propagation == Propagation::orphan);
    auto& metadata = changed["metadata"];
    if (metadata.contains("deletionTimestamp")) {
      if (grace_seconds && grace < number_at(changed, {"metadata", "deletionGracePeriodSeconds"})) metadata["deletionGracePeriodSeconds"] = grace;
      return;
    }
    metadata["deletionTimestamp"] = to_rfc3339(m_store.loop().now() + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
  });
  return m_store.by_uid(object->uid());
}

void Collector::later(std::function<void()> task) {
  const auto now = m_store.loop().now();
  const auto down = std::max(Duration{0}, std::chrono::duration_cast<Duration>(m_down_until - now));
  m_store.loop().after(down + m_random.between(Duration{2}, Duration{300}), std::move(task));
}

void Collector::heard(const Happening& happening) {
  using enum Happening::Sort;
  const auto& object = happening.now->object;
  const auto* owners = dig(object, {"metadata", "ownerReferences"});
  if (happening.sort == added && owners != nullptr) later([this, uid = std::string(happening.now->uid())] { check_owners(uid); });
  const auto waits = [](const Version& version) {
    return version.deleting() && (has_finalizer(version.object, foreground_finalizer) || has_finalizer(version.object, orphan_finalizer));
  };
  const bool begins = waits(*happening.now) && !(happening.before != nullptr && waits(*happening.before));
  if (happening.sort == deleted || begins) later([this, uid = std::string(happening.now->uid())] { visit(uid); });
  if (happening.sort == deleted && owners != nullptr)
    for (const auto& owner : *owners) later([this, uid = std::string(text_at(owner, {"uid"}))] { visit(uid); });
}

void Collector::drop(const VersionPtr& dependent, const std::string& owner_uid, Propagation propagation) {
  const auto& owners = dependent->object.at("metadata").at("ownerReferences");
  const bool owned_otherwise = std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
    const auto uid = text_at(owner, {"uid"});
    return uid != owner_uid && m_store.by_uid(uid) != nullptr;
  });
  if (!owned_otherwise && propagation != Propagation::orphan) {
    if (!dependent->deleting()) remove(dependent, propagation);
    return;
  }
  m_store.update(dependent->uid(), [&](Json& changed) {
    auto& its = changed["metadata"]["ownerReferences"];
    its.erase(std::remove_if(its.begin(), its.end(), [&](const Json& owner) { return text_at(owner, {"uid"}) == owner_uid; }), its.end());
    if (its.empty()) changed["metadata"].erase("ownerReferences");
  });
}

void Collector::visit(const std::string& owner_uid) {
  const auto owner = m_store.by_uid(owner_uid);
  if (owner != nullptr && !owner->deleting()) return;
  const bool orphan = owner != nullptr && has_finalizer(owner->object, orphan_finalizer);
  const bool foreground = owner != nullptr && has_finalizer(owner->object, foreground_finalizer);
  if (owner != nullptr && !orphan && !foreground) return;
  for (const auto& dependent : m_store.dependents(owner_uid))
    drop(dependent, owner_uid, orphan ? Propagation::orphan : foreground ? Propagation::foreground : Propagation::background);
  if (owner == nullptr) return;
  for (const auto& dependent : m_store.dependents(owner_uid))
    for (const auto& reference : dependent->object.at("metadata").at("ownerReferences"))
      if (text_at(reference, {"uid"}) == owner_uid && reference.value("blockOwnerDeletion", false)) return;
  m_store.update(owner_uid, [](Json& changed) {
    set_finalizer(changed, foreground_finalizer, false);
    set_finalizer(changed, orphan_finalizer, false);
  });
}

void Collector::check_owners(const std::string& uid) {
  const auto object = m_store.by_uid(uid);
  const auto* owners = object == nullptr ? nullptr : dig(object->object, {"metadata", "ownerReferences"});
  if (owners == nullptr || object->deleting()) return;
  for (const auto& owner : *owners)
    if (m_store.by_uid(text_at(owner, {"uid"})) != nullptr) return;
  remove(object, Propagation::background);
}

}  // namespace trainstep::sim
