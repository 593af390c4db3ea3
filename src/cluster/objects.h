// What all objects of the API server have. Any JSON is allowed: what is missing or has another type is absent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep::cluster {

// A member; null: there is no object, or no such member.
inline const Json* at(const Json* object, std::string_view key) { return object != nullptr ? trainstep::find(*object, key) : nullptr; }

inline std::string text(const Json* object, std::string_view key) { return object != nullptr ? text_of(*object, key) : std::string(); }

inline const Json* metadata_of(const Json& object) {
  const auto* metadata = at(&object, "metadata");
  return metadata != nullptr && metadata->is_object() ? metadata : nullptr;
}

inline std::string uid_of(const Json& object) { return text(metadata_of(object), "uid"); }

// What keeps a deleted object.
inline std::vector<std::string> finalizers_of(const Json& object) {
  std::vector<std::string> names;
  const auto* finalizers = at(metadata_of(object), "finalizers");
  if (finalizers == nullptr || !finalizers->is_array()) return names;
  for (const auto& one : *finalizers)
    if (one.is_string()) names.push_back(one.get<std::string>());
  return names;
}

inline bool is_owned_by(const Json& object, const std::string& uid) {
  const auto* owners = at(metadata_of(object), "ownerReferences");
  return owners != nullptr && owners->is_array() && std::ranges::any_of(*owners, [&](const Json& owner) { return text(&owner, "uid") == uid; });
}

inline bool is_true(const Json* value) { return value != nullptr && *value == true; }

}  // namespace trainstep::cluster
