// SPDX-License-Identifier: Apache-2.0
#include "step/task_config.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "data/fields.h"

namespace trainstep::step {
namespace {

std::string text_of(const Json& object, std::string_view key) {
  const auto* member = object.is_object() ? find(object, key) : nullptr;
  if (member == nullptr) return {};
  if (member->is_string()) return member->get<std::string>();
  if (const auto whole = whole_number(*member)) return fmt::format("{}", *whole);
  return to_text(*member);
}

// The member when it is a list or an object with something in it.
const Json* filled(const Json& object, std::string_view key) {
  const auto* member = find(object, key);
  return member != nullptr && member->is_structured() && !member->empty() ? member : nullptr;
}

// job_options.<key>, made when it is absent; null when something else stands there, which is for plan/ to refuse.
Json* option(Json& options, const char* key, const Json& empty) {
  if (find(options, key) == nullptr) options[key] = empty;
  return options[key].type() == empty.type() ? &options[key] : nullptr;
}

// An environment variable's valueFrom in the words of job_options.environment; null for a source it has no word for.
Json value_from(const Json& source) {
  if (!source.is_object()) return nullptr;
  if (const auto* secret = find(source, "secretKeyRef")) return {{"secret", text_of(*secret, "name")}, {"key", text_of(*secret, "key")}};
  if (const auto* map = find(source, "configMapKeyRef")) return {{"config_map", text_of(*map, "name")}, {"key", text_of(*map, "key")}};
  if (const auto* field = find(source, "fieldRef")) return {{"field", text_of(*field, "fieldPath")}};
  return nullptr;
}

Result<void> apply_environment(const Json& variables, Json& options) {
  auto* environment = option(options, "environment", Json::object());
  if (environment == nullptr) return {};
  for (const auto& variable : variables) {
    const auto name = text_of(variable, "name");
    if (name.empty() || environment->contains(name)) continue;
    const auto* source = find(variable, "valueFrom");
    auto value = source == nullptr ? Json(text_of(variable, "value")) : value_from(*source);
    if (value.is_null()) return input_error(fmt::format("task_config.env: the source of {} is not supported: {}", name, to_text(*source)));
    (*environment)[name] = std::move(value);
  }
  return {};
}

Result<void> put_source(const Json& volume, Json& mount) {
  if (const auto* claim = find(volume, "persistentVolumeClaim")) {
    mount["claim"] = text_of(*claim, "claimName");
  } else if (const auto* secret = find(volume, "secret")) {
    mount["secret"] = text_of(*secret, "secretName");
  } else if (const auto* map = find(volume, "configMap")) {
    mount["config_map"] = text_of(*map, "name");
  } else if (const auto* host_path = find(volume, "hostPath")) {
    mount["host_path"] = text_of(*host_path, "path");
  } else if (const auto* empty_dir = find(volume, "emptyDir")) {
    mount["empty_dir"] = *empty_dir;
  } else {
    return input_error(fmt::format("task_config.volumes: a volume of this sort is not supported: {}; use job_options.patch", to_text(volume)));
  }
  return {};
}

const Json* volume_named(const Json* volumes, std::string_view name) {
  if (volumes != nullptr && volumes->is_array() && !name.empty())
    for (const auto& volume : *volumes)
      if (text_of(volume, "name") == name) return &volume;
  return nullptr;
}

Result<void> apply_mounts(const Json& mounts, const Json* volumes, Json& options) {
  auto* list = option(options, "volumes", Json::array());
  if (list == nullptr) return {};
  for (const auto& mount : mounts) {
    const auto name = text_of(mount, "name");
    const auto* volume = volume_named(volumes, name);
    if (volume == nullptr) return input_error(fmt::format("task_config.volumeMounts: there is no volume \"{}\"", name));
    Json entry{{"name", name}, {"mount_path", text_of(mount, "mountPath")}};
    TRY(put_source(*volume, entry));
    if (const auto sub_path = text_of(mount, "subPath"); !sub_path.empty()) entry["sub_path"] = sub_path;
    if (const auto* read_only = find(mount, "readOnly"); read_only != nullptr && truth(*read_only).value_or(false)) entry["read_only"] = true;
    list->push_back(std::move(entry));
  }
  return {};
}

// Limits first: for us, limits and requests are the same.
void apply_resources(const Json& resources, plan::Request& request) {
  for (const auto* part : {find(resources, "limits"), find(resources, "requests")}) {
    if (part == nullptr || !part->is_object()) continue;
    for (const auto& [name, value] : part->items()) {
      const auto text = value.is_string() ? value.get<std::string>() : text_of(*part, name);
      if (name == "cpu") {
        if (request.cpus.empty()) request.cpus = text;
      } else if (name == "memory") {
        if (request.memory.empty()) request.memory = text;
      } else if (name.ends_with("/gpu")) {
        if (!request.gpus.empty()) continue;
        request.gpus = text;
        if (name != "nvidia.com/gpu" && !request.job_options.contains("gpu_resource")) request.job_options["gpu_resource"] = name;
      } else if (auto* requests = option(request.job_options, "requests", Json::object()); requests != nullptr && !requests->contains(name)) {
        (*requests)[name] = text;
      }
    }
  }
}

}  // namespace

Result<void> apply_task_config(const Json& task_config, plan::Request& request) {
  if (!task_config.is_object()) return input_error(fmt::format("task_config: wants an object, found {}", type_name(task_config)));
  auto& options = request.job_options;
  if (const auto* affinity = filled(task_config, "affinity"); affinity != nullptr && find(options, "affinity") == nullptr)
    options["affinity"] = *affinity;
  if (const auto* tolerations = filled(task_config, "tolerations"); tolerations != nullptr && tolerations->is_array())
    if (auto* list = option(options, "tolerations", Json::array()))
      for (const auto& toleration : *tolerations) list->push_back(toleration);
  if (const auto* labels = filled(task_config, "nodeSelector"); labels != nullptr && labels->is_object())
    for (const auto& [key, value] : labels->items())
      if (!request.node_selector.contains(key)) request.node_selector[key] = value;
  if (const auto* resources = filled(task_config, "resources"); resources != nullptr && resources->is_object()) apply_resources(*resources, request);
  if (const auto* variables = filled(task_config, "env"); variables != nullptr && variables->is_array()) TRY(apply_environment(*variables, options));
  if (const auto* mounts = filled(task_config, "volumeMounts"); mounts != nullptr && mounts->is_array())
    TRY(apply_mounts(*mounts, find(task_config, "volumes"), options));
  return {};
}

}  // namespace trainstep::step
