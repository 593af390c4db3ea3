// SPDX-License-Identifier: Apache-2.0
#include "sim/past.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainstep::sim {
namespace {

bool is_steps_own(const Version& object) { return !text_at(object.object, {"metadata", "labels", "workflows.argoproj.io/workflow"}).empty(); }

}  // namespace

Past::Past(const Store& store, Time at) : m_store(store), m_number(store.compacted()) {
  const auto& history = store.history();
  const auto next = std::partition_point(history.begin(), history.end(), [at](const Happening& happening) { return happening.at <= at; });
  if (next != history.begin()) m_number = std::prev(next)->number;
}

VersionPtr Past::find(const Resource& resource, std::string_view name_space, std::string_view name) const {
  for (const auto& object : list(resource, name_space))
    if (object->name() == name) return object;
  return nullptr;
}

// The present, with all that has happened since taken back.
std::vector<VersionPtr> Past::list(const Resource& resource, std::string_view name_space) const {
  std::map<std::pair<std::string, std::string>, VersionPtr> objects;
  const auto key = [](const Version& object) { return std::pair(std::string(object.name_space()), std::string(object.name())); };
  for (const auto& object : m_store.list(resource, name_space)) objects[key(*object)] = object;
  const auto& history = m_store.history();
  for (auto happening = history.rbegin(); happening != history.rend() && happening->number > m_number; ++happening) {
    const auto& now = *happening->now;
    if (now.resource != &resource || (!name_space.empty() && now.name_space() != name_space) || is_steps_own(now)) continue;
    if (happening->before == nullptr)
      objects.erase(key(now));
    else
      objects[key(now)] = happening->before;
  }
  std::vector<VersionPtr> result;
  result.reserve(objects.size());
  for (auto& [name, object] : objects) result.push_back(std::move(object));
  return result;
}

}  // namespace trainstep::sim
