// Parses one line of a watch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "kube/api_error.h"

namespace trainstep::kube {

struct WatchEvent {
  enum class Type { changed, deleted, bookmark, error };
  Type type = Type::bookmark;
  Json object;          // for an error: a Status
  std::string version;  // the object's metadata.resourceVersion; may be empty
};

// Errors: the line is not an event. An event of unknown type is returned as a bookmark, which is harmless.
Result<WatchEvent> read_watch_event(std::string_view line);

// The resourceVersion of a list or an object; empty if it has none.
std::string resource_version(const Json& object);

// The error for the Status of an error event.
ApiError watch_error(const std::string& what, const Json& status);

}  // namespace trainstep::kube
