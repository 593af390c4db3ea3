// What all objects of the API server have. Any JSON is allowed: what is missing or has another type is absent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace trainstep::cluster {

// A member; null: there is no object, or no such member.
inline const Json* at(const Json* object, std::string_view key) {
  return object != nullptr && object->is_object() ? trainstep::find(*object, key) : nullptr;
}

inline std::string text(const Json* object, std::string_view key) {
  const auto* value = at(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

inline const Json* metadata_of(const Json& object) {
  const auto* metadata = at(&object, "metadata");
  return metadata != nullptr && metadata->is_object() ? metadata : nullptr;
}

inline std::string uid_of(const Json& object) { return text(metadata_of(object), "uid"); }

}  // namespace trainstep::cluster
