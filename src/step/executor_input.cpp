// The ExecutorInput of KFP v2, as launchers write it since 2.0.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "step/given.h"
#include "step/identity.h"
#include "step/references.h"

namespace trainstep::step {
namespace {

constexpr std::string_view where = "executor-input";

// The member as an object; an absent one is an empty object, because proto3 omits empty ones.
Result<Json> object_in(const Json& parent, const std::string& place, std::string_view key) {
  const auto* member = find(parent, key);
  if (member == nullptr) return Json::object();
  if (!member->is_object()) return input_error(fmt::format("{}: {}.{}: expected an object, got {}", where, place, key, type_name(*member)));
  return *member;
}

std::string text_in(const Json& object, std::string_view key) {
  const auto* member = object.is_object() ? find(object, key) : nullptr;
  return member != nullptr && member->is_string() ? member->get<std::string>() : std::string();
}

bool in_workspace(const Json& metadata) {
  const auto* mark = find(metadata, "_kfp_workspace");
  return mark != nullptr && ((mark->is_boolean() && mark->get<bool>()) || (mark->is_number() && mark->get<double>() != 0));
}

// The only artifact of {"artifacts": […]}; nullopt if the list is empty.
Result<std::optional<plan::StepPath>> read_artifact(const std::string& name, const Json& value) {
  const auto* list = value.is_object() ? find(value, "artifacts") : nullptr;
  if (list == nullptr || (list->is_array() && list->empty())) return std::optional<plan::StepPath>{};
  if (!list->is_array() || !list->front().is_object())
    return input_error(fmt::format("{}: artifact {} does not have the form {{\"artifacts\": [{{…}}]}}", where, name));
  if (list->size() > 1) return input_error(fmt::format("{}: expected one artifact, got {}; merge them in an earlier step", name, list->size()));
  const auto& artifact = list->front();
  plan::StepPath path;
  path.name = name;
  path.uri = text_in(artifact, "uri");
  if (const auto* metadata = find(artifact, "metadata"); metadata != nullptr && metadata->is_object()) path.metadata = *metadata;
  if (const auto* type = find(artifact, "type")) path.type = text_in(*type, "schemaTitle");
  path.path = text_in(artifact, "customPath");
  if (path.path.empty()) {
    path.path = local_path(path.uri);
    if (in_workspace(path.metadata) && !path.path.empty() && !path.uri.starts_with("oci://")) path.path = "/kfp-workspace/.artifacts" + path.path;
  }
  return std::optional(std::move(path));
}

Error unknown_input(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& field : input_fields()) known.emplace_back(field.name);
  const auto near = nearest(name, known);
  return input_error(fmt::format("{}: unknown input \"{}\"{}", where, name,
                                 near ? fmt::format("; did you mean \"{}\"?", *near) : fmt::format("; expected one of {}", join(known, ", "))));
}

bool is_input(const std::string& name) {
  return std::any_of(input_fields().begin(), input_fields().end(), [&](const Field& field) { return field.name == name; });
}

Result<Json> resolved_input(const std::string& name, const Json& value, const Json& values) {
  if (name != "train_specification") return resolved(value, values, name);
  auto specification = with_channels(value, values);
  if (specification.is_string()) TRY(check_specification_resolved(specification.get_ref<const std::string&>(), name));
  return specification;
}

Result<void> read_values(const Json& values, Given& given) {
  for (const auto& [name, value] : values.items()) {
    if (name.starts_with(channel_prefix) || value.is_null()) continue;
    if (!is_input(name)) return unknown_input(name);
    ASSIGN(auto input, resolved_input(name, value, values));
    given.values.emplace(name, std::move(input));
  }
  return {};
}

Result<void> read_input_artifacts(const Json& artifacts, Given& given) {
  for (const auto& [name, value] : artifacts.items()) {
    ASSIGN(auto path, read_artifact(name, value));
    if (path) given.inputs.push_back(std::move(*path));
  }
  return {};
}

Result<void> read_outputs(const Json& outputs, Given& given) {
  ASSIGN(const auto artifacts, object_in(outputs, "outputs", "artifacts"));
  for (const auto& [name, value] : artifacts.items()) {
    ASSIGN(const auto path, read_artifact(name, value));
    if (!path) continue;
    if (given.identity.empty()) given.identity = shared_folder(path->uri);
    if (name == "executor-logs") continue;  // used by the launcher itself
    given.targets.push_back({.name = name, .kind = OutputTarget::Kind::artifact, .path = path->path, .uri = path->uri, .type = path->type});
  }
  ASSIGN(const auto parameters, object_in(outputs, "outputs", "parameters"));
  for (const auto& [name, value] : parameters.items()) {
    const auto file = text_in(value, "outputFile");
    if (file.empty()) return input_error(fmt::format("{}: outputs.parameters.{} has no outputFile", where, name));
    given.targets.push_back({.name = name, .kind = OutputTarget::Kind::parameter, .path = file, .uri = {}, .type = {}});
  }
  given.executor_output_file = text_in(outputs, "outputFile");
  if (given.identity.empty()) given.identity = shared_folder(given.executor_output_file);
  return {};
}

}  // namespace

std::string local_path(std::string_view uri) {
  if (uri.starts_with('/')) return std::string(uri);  // the form that kfp.local uses
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> roots{{{"gs://", "/gcs/"}, {"minio://", "/minio/"}, {"s3://", "/s3/"}}};
  for (const auto& [scheme, root] : roots)
    if (uri.starts_with(scheme)) return std::string(root).append(uri.substr(scheme.size()));
  constexpr std::string_view oci = "oci://";
  if (!uri.starts_with(oci)) return {};
  std::string image(uri.substr(oci.size()));
  std::replace(image.begin(), image.end(), '/', '_');
  return "/oci/" + image + "/models";
}

Result<Given> given_by_executor_input(const Json& executor_input) {
  Given given;
  given.resolved = true;
  ASSIGN(const auto inputs, object_in(executor_input, "", "inputs"));
  ASSIGN(const auto values, object_in(inputs, "inputs", "parameterValues"));
  TRY(read_values(values, given));
  ASSIGN(const auto artifacts, object_in(inputs, "inputs", "artifacts"));
  TRY(read_input_artifacts(artifacts, given));
  ASSIGN(const auto outputs, object_in(executor_input, "", "outputs"));
  TRY(read_outputs(outputs, given));
  return given;
}

}  // namespace trainstep::step
