// SPDX-License-Identifier: Apache-2.0
#include "plan/pod_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/fields.h"
#include "data/finite.h"
#include "data/secrets.h"
#include "data/tree.h"
#include "plan/labels.h"
#include "plan/memory.h"
#include "plan/mounts.h"
#include "plan/names.h"
#include "plan/tolerations.h"

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
  if (auto source = form.object("value_from")) {
    if (source->size() != 1) return input_error(form.path("value_from") + ": expected a Kubernetes EnvVarSource, which has one member");
    read["value_from"] = std::move(*source);
  }
  TRY(form.done());
  const bool object = read.contains("secret") != read.contains("config_map") && read.contains("key");
  const bool fits = object || (!read.contains("secret") && !read.contains("config_map") && !read.contains("key") && !form.has("optional"));
  if (!fits || (object ? 1 : 0) + (read.contains("field") ? 1 : 0) + (read.contains("value_from") ? 1 : 0) != 1)
    return input_error(fmt::format(R"({}: expected a string, {{"secret": NAME, "key": KEY}}, {{"config_map": NAME, "key": KEY}}, )"
                                   R"({{"field": "metadata.name"}} or {{"value_from": a Kubernetes EnvVarSource}})",
                                   where));
  for (const auto* key : {"secret", "config_map"})
    if (const auto* name = find(read, key)) TRY(check_object_name(form.path(key), name->get_ref<const std::string&>()));
  if (const auto* key = find(read, "key")) TRY(check_data_key(form.path("key"), key->get_ref<const std::string&>()));
  return read;
}

using Members = std::vector<std::pair<std::string, Json>>;

Result<Json> read_environment(const Json& environment, const std::string& where) {
  Members read;
  for (const auto& [name, value] : environment.items()) {
    TRY(check_variable_name(name, where));
    if (value.is_null()) continue;
    if (!value.is_structured() && all_finite(value)) {
      read.emplace_back(name, scalar(value));
      continue;
    }
    ASSIGN(auto reference, read_reference(value, fmt::format("{}.{}", where, name)));
    read.emplace_back(name, std::move(reference));
  }
  return make_object(std::move(read));
}

// The path of a folder in a volume, or on a node.
Result<void> check_no_way_up(const std::string& place, const std::string& path) {
  const auto parts = split(path, '/');
  if (std::ranges::find(parts, "..") == parts.end()) return {};
  return input_error(fmt::format("{}: {} contains \"..\", which Kubernetes rejects", place, shown_value(place, Json(path))));
}

Result<void> check_host_path(const std::string& place, const std::string& path) {
  if (!path.starts_with('/')) return input_error(fmt::format("{}: {} is not an absolute path on the node", place, shown_value(place, Json(path))));
  return check_no_way_up(place, path);
}

Result<void> check_sub_path(const std::string& place, const std::string& path) {
  if (path.starts_with('/'))
    return input_error(fmt::format("{}: {} is not a path within the volume; omit the /", place, shown_value(place, Json(path))));
  return check_no_way_up(place, path);
}

constexpr auto one_source = "expected exactly one of claim, secret, config_map, host_path, empty_dir, volume";

// What is mounted, given by exactly one of six keys.
Result<void> read_source(Fields& fields, const Json& volume, const std::string& place, Json& read) {
  std::string empty;
  int sources = 0;
  for (const auto* key : {"claim", "secret", "config_map", "host_path"}) {
    if (auto name = fields.text(key)) {
      TRY(std::string_view(key) == "host_path" ? check_host_path(fields.path(key), *name) : check_object_name(fields.path(key), *name));
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
    if (auto path = fields.text(key)) {
      TRY(check_sub_path(fields.path(key), *path));
      read[key] = std::move(*path);
    }
  if (fields.boolean("read_only").value_or(false)) read["read_only"] = true;
  TRY(fields.done());
  if (!mount_path || !mount_path->starts_with('/')) return input_error(place + ".mount_path: expected an absolute path in the container");
  TRY(check_mount_path(place + ".mount_path", *mount_path));
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

// Name → string; null counts as not given.
Result<Json> read_texts(const Json& object, const std::string& where) {
  Members read;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    if (value.is_structured() || !all_finite(value))
      return input_error(fmt::format("{}.{}: expected a string, got {}", where, name, type_name(value)));
    read.emplace_back(name, scalar(value));
  }
  return make_object(std::move(read));
}

// Extended resources, which have a domain, are counted.
Result<Quantity> parse_extended(std::string_view text, std::string_view what) {
  ASSIGN(auto quantity, parse_quantity(text, what));
  if (std::trunc(quantity.value) == quantity.value) return quantity;
  return input_error(fmt::format("{}: \"{}\" is not an integer; write 1, 2, …", what, text));
}

Result<Json> read_quantities(const Json& object, const std::string& where) {
  Members read;
  Fields fields(object, where);
  for (const auto& [name, value] : object.items()) {
    TRY(check_resource_name(where, name));
    const bool bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    const bool extended = name.find('/') != std::string::npos;
    if (auto quantity = fields.parsed(name, bytes ? parse_memory : extended ? parse_extended : parse_quantity))
      read.emplace_back(name, std::move(quantity->text));
  }
  TRY(fields.done());
  return make_object(std::move(read));
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

// The labels of nodes.
Result<Json> read_labels(const Json& entries, const std::string& where) {
  ASSIGN(auto read, read_texts(entries, where));
  TRY(check_labels(where, read));
  return read;
}

Result<void> check_no_identity(const Json& entries, const std::string& where) {
  for (const auto& [key, value] : entries.items())
    if (is_identity_key(key)) return input_error(fmt::format("{}: \"{}\" is reserved; it identifies jobs and pods", where, key));
  return {};
}

Result<Json> read_own_labels(const Json& entries, const std::string& where) {
  TRY(check_no_identity(entries, where));
  return read_labels(entries, where);
}

Result<Json> read_annotations(const Json& entries, const std::string& where) {
  TRY(check_no_identity(entries, where));
  ASSIGN(auto read, read_texts(entries, where));
  TRY(check_annotations(where, read));
  return read;
}

std::string object_name(Fields& fields, std::string_view key) {
  auto name = fields.text(key).value_or("");
  if (!name.empty())
    if (auto checked = check_object_name(fields.path(key), name); !checked) fields.fail(std::move(checked.error()));
  return name;
}

void overlay(Json& base, const Json& above) {
  if (above.is_object()) {
    Members members;
    if (base.is_object()) append_members(members, base);
    append_members(members, above);
    base = make_object(std::move(members));
  } else if (above.is_array()) {
    for (const auto& item : above) base.push_back(item);
  }
}

void overlay(std::string& base, const std::string& above) {
  if (!above.empty()) base = above;
}

}  // namespace

Result<void> check_variable_name(std::string_view name, std::string_view where) {
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; };
  if (!name.empty() && !is_digit(name.front()) && name != "." && !name.starts_with("..") && std::ranges::all_of(name, allowed)) return {};
  return input_error(fmt::format("{}: {} is not a valid variable name; use letters, digits, underscores, dashes and dots, not starting with a digit",
                                 where, shown_value(where, Json(name))));
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
  pod.tolerations = list("tolerations", read_tolerations);
  pod.affinity = fields.object("affinity").value_or(Json(nullptr));
  pod.node_selector = object("node_selector", read_labels);
  const auto secrets = fields.texts("image_pull_secrets").value_or(std::vector<std::string>{});
  for (const auto& secret : secrets)
    if (auto checked = check_object_name(fields.path("image_pull_secrets"), secret); !checked) fields.fail(std::move(checked.error()));
  pod.image_pull_secrets = secrets;
  pod.image_pull_policy = fields.choice("image_pull_policy", {"Always", "IfNotPresent", "Never"}).value_or("");
  pod.service_account = object_name(fields, "service_account");
  pod.priority_class = object_name(fields, "priority_class");
  pod.scheduler = object_name(fields, "scheduler");
  pod.runtime_class = object_name(fields, "runtime_class");
  pod.labels = object("labels", read_own_labels);
  pod.annotations = object("annotations", read_annotations);
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
