// SPDX-License-Identifier: Apache-2.0
#include "plan/pod_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "data/fields.h"
#include "data/finite.h"
#include "plan/memory.h"
#include "plan/names.h"

namespace trainstep::plan {
namespace {

// As the user means it: 2.0, possibly made from 2 by a pipeline, becomes "2".
Json scalar(const Json& value) {
  if (value.is_string()) return value;
  const auto whole = whole_number(value);
  return whole ? fmt::format("{}", *whole) : to_text(value);
}

// A variable's value from a Secret or another object, in our notation; `value_from` is in Kubernetes' own.
Result<Json> read_reference(const Json& value, const std::string& where) {
  Fields form(value, where);
  Json read = Json::object();
  for (const auto* key : {"secret", "config_map", "field", "key"})
    if (auto text = form.text(key)) read[key] = std::move(*text);
  if (const auto optional = form.boolean("optional"); optional && *optional) read["optional"] = true;
  if (auto source = form.object("value_from")) read["value_from"] = std::move(*source);
  TRY(form.done());
  const bool object = read.contains("secret") != read.contains("config_map") && read.contains("key");
  const bool fits = object || (!read.contains("secret") && !read.contains("config_map") && !read.contains("key") && !read.contains("optional"));
  if (!fits || (object ? 1 : 0) + (read.contains("field") ? 1 : 0) + (read.contains("value_from") ? 1 : 0) != 1)
    return input_error(fmt::format(R"({}: expected a string, {{"secret": NAME, "key": KEY}}, {{"config_map": NAME, "key": KEY}}, )"
                                   R"({{"field": "metadata.name"}} or {{"value_from": a Kubernetes EnvVarSource}})",
                                   where));
  return read;
}

Result<Json> read_environment(const Json& environment, const std::string& where) {
  Json read = Json::object();
  for (const auto& [name, value] : environment.items()) {
    TRY(check_variable_name(name, where));
    if (value.is_null()) continue;
    if (!value.is_structured() && all_finite(value)) {
      read[name] = scalar(value);
      continue;
    }
    ASSIGN(read[name], read_reference(value, fmt::format("{}.{}", where, name)));
  }
  return read;
}

constexpr auto one_source = "expected exactly one of claim, secret, config_map, host_path, empty_dir, volume";

// What is mounted, given by exactly one of six keys.
Result<void> read_source(Fields& fields, const Json& volume, const std::string& place, Json& read) {
  std::string empty;
  int sources = 0;
  for (const auto* key : {"claim", "secret", "config_map", "host_path"}) {
    if (auto name = fields.text(key)) {
      if (std::string_view(key) != "host_path") TRY(check_object_name(fields.path(key), *name));
      read[key] = std::move(*name);
      ++sources;
    } else if (find(volume, key) != nullptr && empty.empty()) {
      empty = key;
    }
  }
  if (const auto folder = fields.any("empty_dir"); folder && !is_blank(*folder)) {
    if (!folder->is_object() && *folder != Json(true))
      return input_error(fields.path("empty_dir") + ": expected an object: {} or a Kubernetes emptyDir");
    read["empty_dir"] = folder->is_object() ? *folder : Json::object();
    ++sources;
  }
  if (auto own = fields.object("volume")) {
    if (own->size() != 1) return input_error(fields.path("volume") + ": expected a Kubernetes volume without its name, like {\"nfs\": {…}}");
    read["volume"] = std::move(*own);
    ++sources;
  }
  TRY(fields.fits());
  if (sources == 0 && !empty.empty())
    return input_error(
        fmt::format("{}.{}: is empty; name one, or omit the volume ({{\"empty_dir\": {{}}}} is a folder deleted with the pod)", place, empty));
  if (sources != 1) return input_error(fmt::format("{}: {}", place, one_source));
  return {};
}

Result<Json> read_volume(const Json& volume, const std::string& place) {
  Fields fields(volume, place);
  Json read = Json::object();
  if (auto name = fields.text("name")) read["name"] = std::move(*name);
  const auto mount_path = fields.text("mount_path");
  if (mount_path) read["mount_path"] = *mount_path;
  TRY(volume.is_object() ? read_source(fields, volume, place, read) : fields.fits());
  for (const auto* key : {"sub_path", "sub_path_expr"})
    if (auto path = fields.text(key)) read[key] = std::move(*path);
  if (fields.boolean("read_only").value_or(false)) read["read_only"] = true;
  TRY(fields.done());
  if (!mount_path || !mount_path->starts_with('/')) return input_error(place + ".mount_path: expected an absolute path in the container");
  if (mount_path->find(':') != std::string::npos || has_control(*mount_path))
    return input_error(
        fmt::format("{}.mount_path: {} contains a colon or a control character, which Kubernetes rejects", place, to_text(*mount_path)));
  if (read.contains("sub_path") && read.contains("sub_path_expr")) return input_error(place + ": sub_path and sub_path_expr are mutually exclusive");
  return read;
}

Result<Json> read_volumes(const Json& volumes, const std::string& where) {
  auto read = Json::array();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    ASSIGN(auto volume, read_volume(volumes[i], fmt::format("{}[{}]", where, i)));
    read.push_back(std::move(volume));
  }
  return read;
}

// Labels and similar maps: name → string; null counts as not given.
Result<Json> read_texts(const Json& object, const std::string& where) {
  Json read = Json::object();
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    if (value.is_structured() || !all_finite(value))
      return input_error(fmt::format("{}.{}: expected a string, got {}", where, name, type_name(value)));
    read[name] = scalar(value);
  }
  return read;
}

Result<Json> read_quantities(const Json& object, const std::string& where) {
  Json read = Json::object();
  Fields fields(object, where);
  for (const auto& [name, value] : object.items()) {
    const bool bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    if (auto quantity = fields.parsed(name, bytes ? parse_memory : parse_quantity)) read[name] = std::move(quantity->text);
  }
  TRY(fields.done());
  return read;
}

// Objects in Kubernetes' own form: only their shape is checked.
Result<Json> read_objects(const Json& list, const std::string& where) {
  auto read = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_null() || is_blank(list[i])) continue;
    if (!list[i].is_object()) return input_error(fmt::format("{}[{}]: expected an object, got {}", where, i, type_name(list[i])));
    read.push_back(list[i]);
  }
  return read;
}

// Normalizes the value of `key` with `read`.
Json in_one_form(Fields& fields, std::string_view key, std::optional<Json> value, Json otherwise,
                 Result<Json> (*read)(const Json&, const std::string&)) {
  if (!value) return otherwise;
  auto result = read(*value, fields.path(key));
  if (result) return std::move(*result);
  fields.fail(std::move(result.error()));
  return otherwise;
}

// For labels and annotations.
Result<Json> read_keys(const Json& entries, const std::string& where) {
  for (const auto& [key, value] : entries.items())
    if (is_identity_key(key)) return input_error(fmt::format("{}: \"{}\" is reserved; it identifies jobs and pods", where, key));
  return read_texts(entries, where);
}

std::string object_name(Fields& fields, std::string_view key) {
  auto name = fields.text(key).value_or("");
  if (!name.empty())
    if (auto checked = check_object_name(fields.path(key), name); !checked) fields.fail(std::move(checked.error()));
  return name;
}

void overlay(Json& base, const Json& above) {
  if (above.is_object()) {
    if (!base.is_object()) base = Json::object();
    for (const auto& [key, value] : above.items()) base[key] = value;
  } else if (above.is_array()) {
    for (const auto& item : above) base.push_back(item);
  }
}

void overlay(std::string& base, const std::string& above) {
  if (!above.empty()) base = above;
}

}  // namespace

Result<void> check_variable_name(std::string_view name, std::string_view where) {
  if (!name.empty() && name.find_first_of("= ") == std::string_view::npos && !has_control(name)) return {};
  return input_error(fmt::format("{}: {} is not a valid variable name", where, to_text(std::string(name))));
}

PodOptions read_pod_options(Fields& fields) {
  PodOptions pod;
  const auto object = [&](std::string_view key, Result<Json> (*read)(const Json&, const std::string&)) {
    return in_one_form(fields, key, fields.object(key), Json::object(), read);
  };
  const auto list = [&](std::string_view key, Result<Json> (*read)(const Json&, const std::string&)) {
    return in_one_form(fields, key, fields.list(key), Json::array(), read);
  };
  pod.environment = object("environment", read_environment);
  pod.volumes = list("volumes", read_volumes);
  pod.tolerations = list("tolerations", read_objects);
  pod.affinity = fields.object("affinity").value_or(Json(nullptr));
  pod.node_selector = object("node_selector", read_texts);
  const auto secrets = fields.texts("image_pull_secrets").value_or(std::vector<std::string>{});
  for (const auto& secret : secrets)
    if (auto checked = check_object_name(fields.path("image_pull_secrets"), secret); !checked) fields.fail(std::move(checked.error()));
  pod.image_pull_secrets = secrets;
  pod.image_pull_policy = fields.choice("image_pull_policy", {"Always", "IfNotPresent", "Never"}).value_or("");
  pod.service_account = object_name(fields, "service_account");
  pod.priority_class = object_name(fields, "priority_class");
  pod.scheduler = object_name(fields, "scheduler");
  pod.runtime_class = object_name(fields, "runtime_class");
  pod.labels = object("labels", read_keys);
  pod.annotations = object("annotations", read_keys);
  pod.pod_security_context = fields.object("pod_security_context").value_or(Json(nullptr));
  pod.security_context = fields.object("security_context").value_or(Json(nullptr));
  pod.requests = object("requests", read_quantities);
  pod.host_network = fields.boolean("host_network");
  return pod;
}

PodOptions overlaid(PodOptions base, const PodOptions& own) {
  // All members: one that is added to the struct must be added here as well to compile.
  const auto& [environment, volumes, tolerations, affinity, node_selector, image_pull_secrets, image_pull_policy, service_account, priority_class,
               scheduler, runtime_class, labels, annotations, pod_security_context, security_context, requests, host_network, image] = own;
  overlay(base.environment, environment);
  overlay(base.volumes, volumes);
  overlay(base.tolerations, tolerations);
  overlay(base.affinity, affinity);
  overlay(base.node_selector, node_selector);
  overlay(base.image_pull_secrets, image_pull_secrets);
  overlay(base.image_pull_policy, image_pull_policy);
  overlay(base.service_account, service_account);
  overlay(base.priority_class, priority_class);
  overlay(base.scheduler, scheduler);
  overlay(base.runtime_class, runtime_class);
  overlay(base.labels, labels);
  overlay(base.annotations, annotations);
  overlay(base.pod_security_context, pod_security_context);
  overlay(base.security_context, security_context);
  overlay(base.requests, requests);
  overlay(base.image, image);
  if (host_network) base.host_network = host_network;
  return base;
}

}  // namespace trainstep::plan
