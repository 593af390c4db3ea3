// What the API server stores: objects as sequences of versions, and subscribers to changes. No HTTP here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "data/json.h"
#include "sim/random.h"
#include "sim/sim_loop.h"

namespace trainstep::sim {

// A resource that is served.
struct Resource {
  std::string group_version;  // "v1", "batch/v1", "kubeflow.org/v1"
  std::string plural;
  std::string kind;
  bool built_in = true;  // not a custom resource
  bool namespaced = true;
  [[nodiscard]] std::string group() const;      // "" for the core group
  [[nodiscard]] std::string qualified() const;  // "pytorchjobs.kubeflow.org", "pods": as messages name it
};

// The member at the end of the path, or nullptr.
const Json* dig(const Json& object, std::initializer_list<std::string_view> path);
const Json* dig(Json&& object, std::initializer_list<std::string_view> path) = delete;
// The member, or an empty object.
const Json& part_of(const Json& object, std::initializer_list<std::string_view> path);
// The text there, or "".
std::string_view text_at(const Json& object, std::initializer_list<std::string_view> path);
std::string_view text_at(Json&& object, std::initializer_list<std::string_view> path) = delete;
std::int64_t number_at(const Json& object, std::initializer_list<std::string_view> path, std::int64_t otherwise = 0);

// An object as it stood at one moment; never changes. Its serializations are cached on first use.
struct Version {
  std::uint64_t number = 0;
  const Resource* resource = nullptr;
  Json object;
  Json shown;  // what is served instead; null: the object

  [[nodiscard]] std::string_view name() const { return text_at(object, {"metadata", "name"}); }
  [[nodiscard]] std::string_view name_space() const { return text_at(object, {"metadata", "namespace"}); }
  [[nodiscard]] std::string_view uid() const { return text_at(object, {"metadata", "uid"}); }
  [[nodiscard]] bool deleting() const { return dig(object, {"metadata", "deletionTimestamp"}) != nullptr; }
  [[nodiscard]] bool owned_by(std::string_view owner_uid) const;
  [[nodiscard]] const std::string& text() const;           // the whole object
  [[nodiscard]] const std::string& item_text() const;      // as it stands in a list: built-in kinds without apiVersion and kind
  [[nodiscard]] const std::string& metadata_text() const;  // as PartialObjectMetadata

 private:
  mutable std::string m_text, m_item, m_metadata;
};
using VersionPtr = std::shared_ptr<const Version>;

struct Happening {
  enum class Sort { added, modified, deleted };
  std::uint64_t number = 0;
  Sort sort = Sort::added;
  VersionPtr now;     // deleted: the last state, with the number of the deletion
  VersionPtr before;  // null when added
  Time at{};
};

class Store {
 public:
  using Listener = std::function<void(const Happening&)>;
  Store(SimLoop& loop, Random random) : m_loop(loop), m_random(random) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const Resource& serve(Resource resource);
  [[nodiscard]] const std::deque<Resource>& resources() const { return m_resources; }
  // Null: not served.
  [[nodiscard]] const Resource* resource(std::string_view group_version, std::string_view plural) const;

  [[nodiscard]] VersionPtr find(const Resource& resource, std::string_view name_space, std::string_view name) const;
  [[nodiscard]] VersionPtr by_uid(std::string_view uid) const;
  // By name; name_space empty: of all.
  [[nodiscard]] std::vector<VersionPtr> list(const Resource& resource, std::string_view name_space) const;
  [[nodiscard]] std::vector<VersionPtr> dependents(std::string_view owner_uid) const;
  [[nodiscard]] std::size_t size() const { return m_objects.size(); }

  // The name must be free. Adds uid, creationTimestamp and resourceVersion.
  VersionPtr create(const Resource& resource, Json object);
  // The next version of the object that has this uid, made by `change`; null if it is gone. No new version where nothing changed. An object that is
  // being deleted goes when its last finalizer and its grace period have gone.
  VersionPtr update(std::string_view uid, const std::function<void(Json&)>& change);
  // Takes it out at once, whatever its finalizers say.
  void remove(const VersionPtr& object);

  // What becomes of an object before it is served: may fill `shown`.
  void show_as(std::function<void(Version& version)> show) { m_show = std::move(show); }

  // Called for each change, in the order they were made, from within it. Listeners live as long as the store.
  void listen(Listener listener) { m_listeners.push_back(std::move(listener)); }
  [[nodiscard]] const std::deque<Happening>& history() const { return m_history; }
  [[nodiscard]] std::uint64_t number() const { return m_number; }
  // Everything up to this number is forgotten: watches from before it are too old.
  void compact(std::uint64_t number);
  [[nodiscard]] std::uint64_t compacted() const { return m_compacted; }
  [[nodiscard]] SimLoop& loop() { return m_loop; }

 private:
  using Key = std::tuple<const Resource*, std::string, std::string>;
  void happened(const Happening& happening);
  void index(const Version& version, bool present);

  SimLoop& m_loop;
  Random m_random;
  std::deque<Resource> m_resources;
  std::map<Key, VersionPtr> m_objects;
  std::map<std::string, Key, std::less<>> m_uids;
  std::map<std::string, std::set<std::string>, std::less<>> m_dependents;  // uid of the owner → uids
  std::deque<Happening> m_history;
  std::vector<Listener> m_listeners;
  std::function<void(Version& version)> m_show;
  std::uint64_t m_number = 1000;
  std::uint64_t m_compacted = 1000;
};

}  // namespace trainstep::sim
