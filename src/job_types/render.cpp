// SPDX-License-Identifier: Apache-2.0
#include "job_types/render.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "data/yaml.h"
#include "job_types/patched.h"
#include "job_types/size.h"
#include "job_types/templates.h"
#include "plan/names.h"

namespace trainstep::job_types {
namespace {

Result<void> may_not_change(const std::string& pointer) {
  return input_error(fmt::format("job_options.patch: cannot change {}; it identifies the job", pointer.substr(1)));
}

// Null if absent. Values of any type are returned.
Json value_at(const Json& json, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return json.contains(place) ? json.at(place) : Json();
}

Result<void> check_same(const Json& before, const Json& after, const std::string& pointer) {
  if (value_at(before, pointer) == value_at(after, pointer)) return {};
  return may_not_change(pointer);
}

// `metadata`: the pointer to the metadata of the job or of a template.
Result<void> check_keys(const Json& before, const Json& after, const std::string& metadata) {
  for (const auto* map : {"/labels", "/annotations"}) {
    const auto place = metadata + map;
    for (const auto* json : {&before, &after}) {
      const auto entries = value_at(*json, place);
      if (!entries.is_object()) continue;
      for (const auto& [key, value] : entries.items())
        if (plan::is_identity_key(key)) TRY(check_same(before, after, place + "/" + escaped(key)));
    }
  }
  for (const auto* field : {"/ownerReferences", "/finalizers"}) TRY(check_same(before, after, metadata + field));
  return {};
}

// What identifies the job, its owner and its pods.
Result<void> check_identity(const Json& before, const Json& after) {
  for (const auto* pointer : {"/apiVersion", "/kind", "/metadata/name", "/metadata/generateName", "/metadata/namespace", "/metadata/uid",
                              "/metadata/resourceVersion", "/metadata/deletionTimestamp", "/spec/selector", "/spec/manualSelector"})
    TRY(check_same(before, after, pointer));
  TRY(check_keys(before, after, "/metadata"));
  for (const auto* json : {&before, &after})
    for (const auto& one : pod_templates(*json)) TRY(check_keys(before, after, one.pointer + "/metadata"));
  return {};
}

// Pods need an image; a local run does not.
Result<void> check_image(const JobType& job_type, const plan::Plan& plan) {
  if (!plan.image.value.empty()) return {};
  for (const auto& replicas : job_type.replicas(plan))
    if (plan::options_for(plan.options, replicas.type).image.empty())
      return input_error(plan.program.source == "train_specification"
                             ? "train_specification: no image, which pods require; set it there, or in base_image"
                             : "base_image: is missing; pods run the command in an image that has it; pass --base-image IMAGE");
  return {};
}

// The pointers of all values that contain no other.
void add_ends(const Json& value, const std::string& pointer, std::set<std::string>& ends) {
  if (!value.is_structured() || value.empty()) {
    ends.insert(pointer);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_ends(value[i], fmt::format("{}/{}", pointer, i), ends);
  } else {
    for (const auto& [key, member] : value.items()) add_ends(member, pointer + '/' + escaped(key), ends);
  }
}

}  // namespace

Result<Resource> choose_resource(const JobType& job_type, std::string_view group_version) {
  if (group_version.empty()) return job_type.resources.front();
  std::vector<std::string> candidates;
  for (const auto& resource : job_type.resources) {
    if (resource.group_version == group_version) return resource;
    candidates.emplace_back(resource.group_version);
  }
  return input_error(fmt::format("{}: not available in \"{}\"; expected one of {}", job_type.traits.name, group_version, join(candidates, ", ")));
}

Result<Manifest> render(const plan::Plan& plan, std::string_view group_version) {
  const auto& job_type = find(plan.job_type);
  ASSIGN(const auto resource, choose_resource(job_type, group_version));
  TRY(check_options(plan));
  TRY(check_image(job_type, plan));
  ASSIGN(auto manifest, job_type.render(plan, resource));
  const auto unpatched = manifest.json();
  TRY(manifest.patch(plan.options.patch));
  TRY(check_patched(manifest.json()));
  TRY(check_identity(unpatched, manifest.json()));
  TRY(check_size(manifest));
  return manifest;
}

std::string to_yaml(const Manifest& manifest) { return trainstep::to_yaml(manifest.json()); }

std::string to_yaml_explained(const Manifest& manifest) {
  std::set<std::string> shown;
  add_ends(manifest.json(), "", shown);
  return trainstep::to_yaml(manifest.json(), [&](const std::string& pointer) -> std::optional<std::string> {
    if (!shown.contains(pointer)) return std::nullopt;
    auto source = manifest.source_of(pointer);
    if (source.empty()) return std::nullopt;
    return source;
  });
}

}  // namespace trainstep::job_types
