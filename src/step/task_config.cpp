// SPDX-License-Identifier: Apache-2.0
#include "step/task_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "data/fields.h"
#include "spec/values.h"
#include "step/node_selector.h"

namespace trainstep::step {
namespace {

std::string text_of(const Json& object, std::string_view key) {
  const auto* member = object.is_object() ? find(object, key) : nullptr;
  if (member == nullptr) return {};
  if (member->is_string()) return member->get<std::string>();
  if (const auto whole = whole_number(*member)) return fmt::format("{}", *whole);
  return to_text(*member);
}

// job_options.<key>, created if absent; null if it is something else, which plan/ refuses.
Json* option(Json& options, const char* key, const Json& empty) {
  if (find(options, key) == nullptr) options[key] = empty;
  return options[key].type() == empty.type() ? &options[key] : nullptr;
}

// Removes nulls at any depth: KFP writes them for what is not set. Whole numbers become integers.
Json cleaned(const Json& value) {
  if (value.is_array()) {
    auto list = Json::array();
    for (const auto& item : value) list.push_back(cleaned(item));
    return list;
  }
  if (!value.is_object()) return spec::with_whole_numbers(value);
  auto object = Json::object();
  for (const auto& [key, member] : value.items())
    if (!member.is_null()) object[key] = cleaned(member);
  return object;
}

// {"name": …, "key": …} and possibly "optional".
bool is_reference(const Json& source) {
  for (const auto& [key, value] : source.items())
    if (key != "name" && key != "key" && key != "optional") return false;
  return !text_of(source, "name").empty() && !text_of(source, "key").empty();
}

// An environment variable's valueFrom in the form of job_options.environment, or in that of Kubernetes where the former cannot express it.
Json value_from(const Json& source) {
  const auto* only = source.size() == 1 && source.front().is_object() ? &source.front() : nullptr;
  const auto kind = source.empty() ? std::string() : source.begin().key();
  if (only != nullptr && (kind == "secretKeyRef" || kind == "configMapKeyRef") && is_reference(*only)) {
    Json words{{kind == "secretKeyRef" ? "secret" : "config_map", text_of(*only, "name")}, {"key", text_of(*only, "key")}};
    if (const auto* optional = find(*only, "optional"); optional != nullptr && truth(*optional).value_or(false)) words["optional"] = true;
    return words;
  }
  if (only != nullptr && kind == "fieldRef" && only->size() == 1) return {{"field", text_of(*only, "fieldPath")}};
  return {{"value_from", source}};
}

Result<void> apply_environment(const Json& variables, Json& options) {
  auto* environment = option(options, "environment", Json::object());
  if (environment == nullptr) return {};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto place = fmt::format("task_config.env[{}]", i);
    if (!variables[i].is_object()) return input_error(fmt::format("{}: expected an object, got {}", place, type_name(variables[i])));
    const auto name = text_of(variables[i], "name");
    if (name.empty()) return input_error(place + ".name: is missing");
    if (environment->contains(name)) continue;
    const auto source = cleaned(variables[i].value("valueFrom", Json()));
    if (!source.is_null() && (!source.is_object() || source.empty()))
      return input_error(place + ".valueFrom: expected an object that names a source");
    (*environment)[name] = source.is_null() ? Json(text_of(variables[i], "value")) : value_from(source);
  }
  return {};
}

struct Source {
  std::string_view kubernetes, key, word;  // {"secret": {"secretName": …}} is {"secret": …}
};
constexpr std::array<Source, 4> sources{{{"persistentVolumeClaim", "claimName", "claim"},
                                         {"secret", "secretName", "secret"},
                                         {"configMap", "name", "config_map"},
                                         {"hostPath", "path", "host_path"}}};

// In the form of job_options.volumes, or in that of Kubernetes where the former cannot express it.
Result<void> put_source(const Json& volume, const std::string& place, Json& mount) {
  auto own = cleaned(volume);
  own.erase("name");
  if (own.size() != 1 || !own.front().is_object()) return input_error(fmt::format("{}: expected one source, got {}", place, to_text(own)));
  const auto kind = own.begin().key();
  const auto& members = own.front();
  if (kind == "emptyDir") {
    mount["empty_dir"] = members;
    return {};
  }
  const auto* const known = std::find_if(sources.begin(), sources.end(), [&](const Source& source) { return source.kubernetes == kind; });
  if (known == sources.end()) {
    mount["volume"] = std::move(own);
    return {};
  }
  const auto name = text_of(members, known->key);
  if (name.empty()) return input_error(fmt::format("{}.{}.{}: is empty; name one, or omit the volume", place, kind, known->key));
  if (members.size() == 1)
    mount[std::string(known->word)] = name;
  else
    mount["volume"] = std::move(own);
  return {};
}

const Json* volume_named(const Json* volumes, std::string_view name, std::size_t& index) {
  if (volumes != nullptr && volumes->is_array() && !name.empty())
    for (index = 0; index < volumes->size(); ++index)
      if (text_of((*volumes)[index], "name") == name) return &(*volumes)[index];
  return nullptr;
}

Result<void> apply_mounts(const Json& mounts, const Json* volumes, Json& options) {
  auto* list = option(options, "volumes", Json::array());
  if (list == nullptr) return {};
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const auto place = fmt::format("task_config.volumeMounts[{}]", i);
    const auto mount = cleaned(mounts[i]);
    if (!mount.is_object()) return input_error(fmt::format("{}: expected an object, got {}", place, type_name(mount)));
    const auto name = text_of(mount, "name");
    std::size_t index = 0;
    const auto* volume = volume_named(volumes, name, index);
    if (volume == nullptr) return input_error(fmt::format("{}: unknown volume \"{}\"", place, name));
    Json entry{{"name", name}};
    TRY(put_source(*volume, fmt::format("task_config.volumes[{}]", index), entry));
    for (const auto& [key, value] : mount.items()) {
      if (key == "name") continue;
      static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words{
          {{"mountPath", "mount_path"}, {"subPath", "sub_path"}, {"subPathExpr", "sub_path_expr"}, {"readOnly", "read_only"}}};
      const auto* const word = std::find_if(words.begin(), words.end(), [&, &k = key](const auto& one) { return one.first == k; });
      if (word == words.end()) return input_error(fmt::format("{}.{}: not supported; omit it, or use job_options.patch", place, key));
      entry[std::string(word->second)] = value;
    }
    list->push_back(std::move(entry));
  }
  return {};
}

// Limits take precedence: here, limits and requests are the same.
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

// The member if it is not empty; an error if it has another type.
Result<const Json*> part(const Json& task_config, const char* key, const Json& type) {
  const auto* member = find(task_config, key);
  if (member == nullptr || is_blank(*member)) return static_cast<const Json*>(nullptr);
  if (member->type() != type.type()) return input_error(fmt::format("task_config.{}: expected {}, got {}", key, type_name(type), type_name(*member)));
  return member->empty() ? nullptr : member;
}

Result<void> check_keys(const Json& task_config) {
  constexpr std::array<std::string_view, 7> known{"affinity", "tolerations", "nodeSelector", "env", "volumes", "volumeMounts", "resources"};
  for (const auto& [key, value] : task_config.items())
    if (std::find(known.begin(), known.end(), key) == known.end() && !value.is_null() && !(value.is_structured() && value.empty()))
      return input_error(fmt::format("task_config.{}: not supported; omit it, or use job_options.patch", key));
  return {};
}

Result<void> check_resources(const Json& resources) {
  for (const auto& [key, value] : resources.items()) {
    if (value.is_null() || (value.is_structured() && value.empty())) continue;
    if (key != "limits" && key != "requests") return input_error(fmt::format("task_config.resources.{}: not supported; use job_options.patch", key));
    if (!value.is_object()) return input_error(fmt::format("task_config.resources.{}: expected an object, got {}", key, type_name(value)));
  }
  return {};
}

}  // namespace

Result<void> apply_task_config(const Json& task_config, plan::Request& request) {
  if (!task_config.is_object()) return input_error(fmt::format("task_config: expected an object, got {}", type_name(task_config)));
  TRY(check_keys(task_config));
  auto& options = request.job_options;
  const auto object = Json::object(), list = Json::array();
  ASSIGN(const auto* affinity, part(task_config, "affinity", object));
  if (affinity != nullptr && find(options, "affinity") == nullptr) options["affinity"] = cleaned(*affinity);
  ASSIGN(const auto* tolerations, part(task_config, "tolerations", list));
  if (tolerations != nullptr)
    if (auto* all = option(options, "tolerations", list))
      for (const auto& toleration : *tolerations) all->push_back(cleaned(toleration));
  ASSIGN(const auto* labels, part(task_config, "nodeSelector", object));
  if (labels != nullptr) {
    ASSIGN(const auto selector, check_node_selector(*labels, "task_config.nodeSelector"));
    for (const auto& [key, value] : selector.items())
      if (!request.node_selector.contains(key)) request.node_selector[key] = value;
  }
  ASSIGN(const auto* resources, part(task_config, "resources", object));
  if (resources != nullptr) {
    TRY(check_resources(*resources));
    apply_resources(*resources, request);
  }
  ASSIGN(const auto* variables, part(task_config, "env", list));
  if (variables != nullptr) TRY(apply_environment(*variables, options));
  ASSIGN(const auto* volumes, part(task_config, "volumes", list));
  ASSIGN(const auto* mounts, part(task_config, "volumeMounts", list));
  if (mounts != nullptr) TRY(apply_mounts(*mounts, volumes, options));
  return {};
}

}  // namespace trainstep::step
