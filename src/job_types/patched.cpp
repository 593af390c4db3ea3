// SPDX-License-Identifier: Apache-2.0
#include "job_types/patched.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "data/secrets.h"
#include "plan/labels.h"

namespace trainstep::job_types {
namespace {

Error made(const std::string& place, std::string_view wanted, const Json& found) {
  return input_error(fmt::format("job_options.patch: {}: expected {}, but the patch makes it {}", place, wanted, shown_value(place, found)));
}

// The member if it is an object; null if it is absent.
Result<const Json*> object_in(const Json& parent, std::string_view key, const std::string& place) {
  const auto* member = trainstep::find(parent, key);
  if (member != nullptr && !member->is_object()) return made(fmt::format("{}{}", place, key), "an object", *member);
  return member;
}

Result<void> check_metadata(const Json& parent, const std::string& place) {
  ASSIGN(const auto* metadata, object_in(parent, "metadata", place));
  if (metadata == nullptr) return {};
  for (const auto* key : {"labels", "annotations"}) {
    const auto where = place + "metadata.";
    ASSIGN(const auto* entries, object_in(*metadata, key, where));
    if (entries == nullptr) continue;
    for (const auto& [name, value] : entries->items())
      if (!value.is_string()) return made(fmt::format("{}{}.{}", where, key, name), "a string", value);
    if (std::string_view(key) == "labels") TRY(in_context("job_options.patch", plan::check_labels(where + key, *entries)));
  }
  return {};
}

Result<void> check_pod(const Json& pod, const std::string& place) {
  ASSIGN(const auto* spec, object_in(pod, "spec", place));
  if (spec == nullptr) return {};
  for (const auto* key : {"containers", "initContainers", "volumes"}) {
    const auto* list = trainstep::find(*spec, key);
    if (list == nullptr) continue;
    const auto where = fmt::format("{}spec.{}", place, key);
    if (!list->is_array()) return made(where, "a list", *list);
    for (std::size_t i = 0; i < list->size(); ++i)
      if (!(*list)[i].is_object()) return made(fmt::format("{}[{}]", where, i), "an object", (*list)[i]);
  }
  return {};
}

// `parent` may contain a pod template.
Result<void> check_template(const Json& parent, const std::string& place) {
  ASSIGN(const auto* pod, object_in(parent, "template", place));
  if (pod == nullptr) return {};
  TRY(check_metadata(*pod, place + "template."));
  return check_pod(*pod, place + "template.");
}

// The controller of a job without pods marks it complete at once.
Result<void> check_counts(const Json& parent, const std::string& place) {
  for (const auto* key : {"completions", "parallelism", "replicas"})
    if (const auto* count = trainstep::find(parent, key); count != nullptr && count->is_number() && *count < 1)
      return made(place + key, "at least 1", *count);
  return {};
}

}  // namespace

Result<void> check_patched(const Json& object) {
  if (!object.is_object()) return made("the manifest", "an object", object);
  TRY(check_metadata(object, ""));
  ASSIGN(const auto* spec, object_in(object, "spec", ""));
  if (spec == nullptr) return {};
  TRY(check_template(*spec, "spec."));
  TRY(check_counts(*spec, "spec."));
  for (const auto& [key, types] : spec->items()) {
    if (!key.ends_with("ReplicaSpecs") || types.is_null()) continue;
    if (!types.is_object()) return made("spec." + key, "an object", types);
    for (const auto& [type, replica] : types.items()) {
      const auto place = fmt::format("spec.{}.{}", key, type);
      if (!replica.is_object()) return made(place, "an object", replica);
      TRY(check_template(replica, place + "."));
      TRY(check_counts(replica, place + "."));
    }
  }
  return {};
}

}  // namespace trainstep::job_types
