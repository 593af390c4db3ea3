// One line of a watch, read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "kube/api_error.h"

namespace trainstep::kube {

struct WatchEvent {
  enum class Type { changed, deleted, bookmark, error };
  Type type = Type::bookmark;
  Json object;          // of an error: a Status
  std::string version;  // the object's metadata.resourceVersion; may be empty
};

// Errors: the line is no event; of a type that is not known: a bookmark, which does no harm.
Result<WatchEvent> read_watch_event(std::string_view line);

// The version of a list or an object; empty if it has none.
std::string resource_version(const Json& object);

// The Status of an error event.
ApiError watch_error(const std::string& what, const Json& status);

}  // namespace trainstep::kube
