// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <utility>

#include "data/json_reader.h"

namespace trainstep::kube {

std::string resource_version(const Json& object) {
  const auto* metadata = object.is_object() ? find(object, "metadata") : nullptr;
  const auto* version = metadata != nullptr && metadata->is_object() ? find(*metadata, "resourceVersion") : nullptr;
  return version != nullptr && version->is_string() ? version->get<std::string>() : std::string();
}

Result<WatchEvent> read_watch_event(std::string_view line) {
  ASSIGN(auto read, read_answer(line, "an event"));
  const auto* type = read.is_object() ? find(read, "type") : nullptr;
  const auto* object = read.is_object() ? find(read, "object") : nullptr;
  if (type == nullptr || !type->is_string() || object == nullptr || !object->is_object())
    return Error{ErrorKind::unavailable, "an event without type or object"};
  WatchEvent event;
  const auto name = type->get<std::string>();
  if (name == "ADDED" || name == "MODIFIED") event.type = WatchEvent::Type::changed;
  if (name == "DELETED") event.type = WatchEvent::Type::deleted;
  if (name == "ERROR") event.type = WatchEvent::Type::error;
  event.version = resource_version(*object);
  event.object = std::move(read["object"]);
  return event;
}

ApiError watch_error(const std::string& what, const Json& status) {
  const auto* code = find(status, "code");
  const auto number = code != nullptr && code->is_number_integer() ? code->get<int>() : 500;
  auto error = api_error(what, number, to_text(status), {});
  if (error.reason == "Expired" || error.reason == "Gone") error.status = 410;
  return error;
}

}  // namespace trainstep::kube
