// SPDX-License-Identifier: Apache-2.0
#include "spec/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "data/fields.h"
#include "spec/placeholders.h"

namespace trainstep::spec {
namespace {

// One item of a setting; `place` and `remedy` are for messages.
struct Item {
  const Json& json;
  std::string place;
  std::string_view remedy;  // "job_options.volumes"
};

Error unknown_here(const std::string& place, std::string_view remedy) {
  return input_error(fmt::format("{}: depends on a pipeline parameter or another task and is not known here; use {}", place, remedy));
}

// An InputParameterSpec: only {runtimeValue: {constant}} has a known value.
Result<Json> constant_of(const Json& specification, const std::string& place, std::string_view remedy) {
  const auto* runtime = specification.is_object() ? find(specification, "runtimeValue") : nullptr;
  const auto* constant = runtime != nullptr && runtime->is_object() ? find(*runtime, "constant") : nullptr;
  if (constant == nullptr || (constant->is_string() && holds_v2_key(*constant))) return unknown_here(place, remedy);
  return *constant;
}

Result<std::string> text(const Item& item, std::string_view key) {
  const auto place = fmt::format("{}.{}", item.place, key);
  const auto* value = find(item.json, key);
  if (value == nullptr) return input_error(place + ": is missing");
  if (!value->is_string()) return input_error(place + ": expected a string");
  if (holds_v2_key(*value)) return unknown_here(place, item.remedy);
  return value->get<std::string>();
}

// A name, written as `KEYParameter` by newer SDKs, as `KEY` by older ones.
Result<std::string> name(const Item& item, const std::string& key, const std::string& parameter) {
  for (const auto* dynamic : {"componentInputParameter", "taskOutputParameter"})
    if (find(item.json, dynamic) != nullptr) return unknown_here(fmt::format("{}.{}", item.place, dynamic), item.remedy);
  const auto* specification = find(item.json, parameter);
  if (specification == nullptr) return text(item, key);
  const auto place = fmt::format("{}.{}", item.place, parameter);
  ASSIGN(const auto constant, constant_of(*specification, place, item.remedy));
  if (!constant.is_string()) return input_error(place + ": expected a string");
  return constant.get<std::string>();
}

Result<bool> is_optional(const Item& item) {
  const auto* optional = find(item.json, "optional");
  if (optional == nullptr) return false;
  const auto known = truth(*optional);
  if (!known) return input_error(item.place + ".optional: expected true or false");
  return *known;
}

// An error for members that are not translated, so that none is silently dropped.
Result<void> check_members(const Item& item, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : item.json.items()) {
    const bool empty = value.is_null() || value == "" || value == false || (value.is_structured() && value.empty());
    if (!empty && std::find(known.begin(), known.end(), key) == known.end())
      return input_error(fmt::format("{}.{}: not supported; use {}", item.place, key, item.remedy));
  }
  return {};
}

Result<void> add_environment(const Item& item, const std::string& key, const std::string& source, const std::string& source_key, Json& options) {
  TRY(check_members(item, {"optional", "keyToEnv", "componentInputParameter", "taskOutputParameter", key, key + "Parameter"}));
  ASSIGN(const auto optional, is_optional(item));
  ASSIGN(const auto owner, name(item, key, key + "Parameter"));
  const auto* pairs = find(item.json, "keyToEnv");
  if (pairs == nullptr || !pairs->is_array()) return input_error(item.place + ".keyToEnv: expected a list");
  for (std::size_t i = 0; i < pairs->size(); ++i) {
    const Item pair{(*pairs)[i], fmt::format("{}.keyToEnv[{}]", item.place, i), item.remedy};
    if (!pair.json.is_object()) return input_error(pair.place + ": expected an object");
    ASSIGN(const auto variable, text(pair, "envVar"));
    ASSIGN(auto data_key, text(pair, source_key));
    auto& entry = options["environment"][variable] = Json{{source, owner}, {"key", std::move(data_key)}};
    if (optional) entry["optional"] = true;
  }
  return {};
}

Result<void> secret_as_env(const Item& item, Json& options) { return add_environment(item, "secretName", "secret", "secretKey", options); }
Result<void> config_map_as_env(const Item& item, Json& options) {
  return add_environment(item, "configMapName", "config_map", "configMapKey", options);
}

Result<void> field_path_as_env(const Item& item, Json& options) {
  ASSIGN(const auto variable, text(item, "name"));
  ASSIGN(auto field, text(item, "fieldPath"));
  options["environment"][variable] = Json{{"field", std::move(field)}};
  return {};
}

Result<void> add_volume(const Item& item, const std::string& source, Json what, Json& options) {
  TRY(check_members(item, {"mountPath", "subPath", "optional", "secretName", "secretNameParameter", "configMapName", "configMapNameParameter",
                           "constant", "pvcNameParameter", "volumeName", "medium", "sizeLimit"}));
  ASSIGN(auto mount_path, text(item, "mountPath"));
  Json volume{{"mount_path", std::move(mount_path)}, {source, std::move(what)}};
  if (const auto* sub_path = find(item.json, "subPath"); sub_path != nullptr && *sub_path != "") {
    ASSIGN(auto inside, text(item, "subPath"));
    volume["sub_path"] = std::move(inside);
  }
  options["volumes"].push_back(std::move(volume));
  return {};
}

Result<void> secret_as_volume(const Item& item, Json& options) {
  ASSIGN(auto secret, name(item, "secretName", "secretNameParameter"));
  ASSIGN(const auto optional, is_optional(item));
  if (optional) return add_volume(item, "volume", {{"secret", {{"secretName", std::move(secret)}, {"optional", true}}}}, options);
  return add_volume(item, "secret", std::move(secret), options);
}

Result<void> config_map_as_volume(const Item& item, Json& options) {
  ASSIGN(auto config_map, name(item, "configMapName", "configMapNameParameter"));
  ASSIGN(const auto optional, is_optional(item));
  if (optional) return add_volume(item, "volume", {{"configMap", {{"name", std::move(config_map)}, {"optional", true}}}}, options);
  return add_volume(item, "config_map", std::move(config_map), options);
}

Result<void> pvc_mount(const Item& item, Json& options) {
  ASSIGN(auto claim, name(item, "constant", "pvcNameParameter"));
  return add_volume(item, "claim", std::move(claim), options);
}

Result<void> empty_dir_mount(const Item& item, Json& options) {
  Json empty_dir = Json::object();
  for (const auto* key : {"medium", "sizeLimit"}) {
    const auto* value = find(item.json, key);
    if (value == nullptr || *value == "") continue;
    ASSIGN(auto setting, text(item, key));
    empty_dir[key] = std::move(setting);
  }
  return add_volume(item, "empty_dir", std::move(empty_dir), options);
}

Result<void> image_pull_secret(const Item& item, Json& options) {
  ASSIGN(auto secret, name(item, "secretName", "secretNameParameter"));
  options["image_pull_secrets"].push_back(std::move(secret));
  return {};
}

// proto3 JSON writes int64 values as strings: "30" → 30.
Json with_numbers(const Json& object, std::initializer_list<std::string_view> keys) {
  auto result = object;
  for (const auto key : keys)
    if (const auto* value = find(object, key))
      if (const auto number = whole_number(*value)) result[std::string(key)] = *number;
  return result;
}

Result<void> toleration(const Item& item, Json& options) {
  const auto* specification = find(item.json, "tolerationJson");
  if (specification == nullptr) {
    if (holds_v2_key(item.json)) return unknown_here(item.place, item.remedy);
    options["tolerations"].push_back(with_numbers(item.json, {"tolerationSeconds"}));
    return {};
  }
  ASSIGN(const auto constant, constant_of(*specification, item.place + ".tolerationJson", item.remedy));
  for (const auto& one : constant.is_array() ? constant : Json::array({constant})) options["tolerations"].push_back(one);
  return {};
}

Result<void> node_affinity(const Item& item, Json& options) {
  auto& affinity = options["affinity"]["nodeAffinity"];
  if (const auto* specification = find(item.json, "nodeAffinityJson")) {
    ASSIGN(affinity, constant_of(*specification, item.place + ".nodeAffinityJson", item.remedy));
    return {};
  }
  if (holds_v2_key(item.json)) return unknown_here(item.place, item.remedy);
  Json term = Json::object();
  for (const auto* key : {"matchExpressions", "matchFields"})
    if (const auto* value = find(item.json, key)) term[key] = *value;
  const auto* weight = find(item.json, "weight");
  if (weight == nullptr) {
    affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].push_back(std::move(term));
  } else {
    affinity["preferredDuringSchedulingIgnoredDuringExecution"].push_back(Json{{"weight", *weight}, {"preference", std::move(term)}});
  }
  return {};
}

Result<void> node_selector(const Item& item, Json& options) {
  if (const auto* specification = find(item.json, "nodeSelectorJson")) {
    ASSIGN(options["node_selector"], constant_of(*specification, item.place + ".nodeSelectorJson", item.remedy));
    return {};
  }
  const auto* labels = find(item.json, "labels");
  if (labels == nullptr) return {};
  if (holds_v2_key(*labels)) return unknown_here(item.place + ".labels", item.remedy);
  options["node_selector"] = *labels;
  return {};
}

Result<void> pod_metadata(const Item& item, Json& options) {
  for (const auto* key : {"labels", "annotations"}) {
    const auto* value = find(item.json, key);
    if (value == nullptr) continue;
    if (holds_v2_key(*value)) return unknown_here(fmt::format("{}.{}", item.place, key), item.remedy);
    options[key] = *value;
  }
  return {};
}

Result<void> image_pull_policy(const Item& item, Json& options) {
  options["image_pull_policy"] = item.json;
  return {};
}

Result<void> active_deadline(const Item& item, Json& options) {
  const auto seconds = whole_number(item.json);
  if (!seconds) return input_error(item.place + ": expected a number of seconds");
  options["run_policy"]["active_deadline"] = *seconds;
  return {};
}

Result<void> security_context(const Item& item, Json& options) {
  options["security_context"] = with_numbers(item.json, {"runAsUser", "runAsGroup"});
  return {};
}

Result<void> shared_memory(const Item& item, Json& options) {
  if (const auto* size = find(item.json, "size"); size != nullptr && *size != "") {
    ASSIGN(auto quantity, text(item, "size"));
    options["shared_memory"] = std::move(quantity);
  }
  return {};
}

enum class Shape { list, object, scalar };
struct Setting {
  std::string_view key;
  Shape shape;
  std::string_view remedy;
  Result<void> (*read)(const Item& item, Json& options);  // null: no translation
};
constexpr std::array<Setting, 18> settings{{
    {"secretAsEnv", Shape::list, "job_options.environment", secret_as_env},
    {"configMapAsEnv", Shape::list, "job_options.environment", config_map_as_env},
    {"fieldPathAsEnv", Shape::list, "job_options.environment", field_path_as_env},
    {"secretAsVolume", Shape::list, "job_options.volumes", secret_as_volume},
    {"configMapAsVolume", Shape::list, "job_options.volumes", config_map_as_volume},
    {"pvcMount", Shape::list, "job_options.volumes", pvc_mount},
    {"emptyDirMounts", Shape::list, "job_options.volumes", empty_dir_mount},
    {"genericEphemeralVolume", Shape::list, "job_options.volumes with a claim or empty_dir", nullptr},
    {"imagePullSecret", Shape::list, "job_options.image_pull_secrets", image_pull_secret},
    {"tolerations", Shape::list, "job_options.tolerations", toleration},
    {"nodeAffinity", Shape::list, "job_options.affinity", node_affinity},
    {"podAffinity", Shape::list, "job_options.affinity", nullptr},
    {"nodeSelector", Shape::object, "node_selector", node_selector},
    {"podMetadata", Shape::object, "job_options.labels and job_options.annotations", pod_metadata},
    {"securityContext", Shape::object, "job_options.security_context", security_context},
    {"enabledSharedMemory", Shape::object, "job_options.shared_memory", shared_memory},
    {"imagePullPolicy", Shape::scalar, "job_options.image_pull_policy", image_pull_policy},
    {"activeDeadlineSeconds", Shape::scalar, "job_options.run_policy.active_deadline", active_deadline},
}};

Result<void> read_setting(const Setting& setting, const Json& value, const std::string& place, Json& options) {
  if (setting.read == nullptr) return input_error(fmt::format("{}: not supported; use {}", place, setting.remedy));
  if (setting.shape == Shape::scalar) return setting.read({value, place, setting.remedy}, options);
  if (setting.shape == Shape::list && !value.is_array()) return input_error(place + ": expected a list");
  const auto& items = setting.shape == Shape::list ? value : Json::array({value});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto item_place = setting.shape == Shape::list ? fmt::format("{}[{}]", place, i) : place;
    if (!items[i].is_object()) return input_error(item_place + ": expected an object");
    TRY(setting.read({items[i], item_place, setting.remedy}, options));
  }
  return {};
}

}  // namespace

Result<Json> read_platform(const Json& executor, const std::string& where) {
  Json options = Json::object();
  if (!executor.is_object()) return input_error(where + ": expected an object");
  for (const auto& [key, value] : executor.items()) {
    const Setting* found = nullptr;
    for (const auto& setting : settings)
      if (setting.key == key) found = &setting;
    const auto place = where + "." + key;
    if (found == nullptr) return input_error(place + ": not supported; omit it and use job_options instead, such as job_options.patch");
    TRY(read_setting(*found, value, place, options));
  }
  return options;
}

}  // namespace trainstep::spec
