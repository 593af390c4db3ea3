// SPDX-License-Identifier: Apache-2.0
#include "job_types/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "job_types/option_source.h"
#include "plan/mounts.h"
#include "plan/request.h"

namespace trainstep::job_types {
namespace {

constexpr auto volumes = "/spec/volumes";
constexpr auto volume_mounts = "/spec/containers/0/volumeMounts";

using plan::PodOptions;

std::string text_of(const Json& object, const char* key) {
  const auto* found = trainstep::find(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

bool mounted_by_user(const PodOptions& options, const std::string& path) {
  const auto wanted = plan::normal_path(path);
  return std::ranges::any_of(options.volumes, [&](const Json& volume) { return plan::normal_path(text_of(volume, "mount_path")) == wanted; });
}

bool read_only(const Json& volume) { return volume.contains("read_only"); }

// What is known about the volumes of a pod by name.
struct Names {
  std::set<std::string> given;
  std::set<std::string> writable;  // a volume that is mounted several times is writable if any of its mounts is
  std::set<std::string> added;     // those that the pod already has
};

Names names_of(const Json& all) {
  Names names;
  for (const auto& volume : all) {
    const auto name = text_of(volume, "name");
    if (name.empty()) continue;
    names.given.insert(name);
    if (!read_only(volume)) names.writable.insert(name);
  }
  return names;
}

// An element of a pod's `volumes`, without its name.
Json volume_source(const Json& volume, bool as_read_only) {
  if (const auto* own = trainstep::find(volume, "volume")) return *own;
  if (const auto claim = text_of(volume, "claim"); !claim.empty()) {
    Json source = {{"claimName", claim}};
    if (as_read_only) source["readOnly"] = true;
    return {{"persistentVolumeClaim", source}};
  }
  if (const auto secret = text_of(volume, "secret"); !secret.empty()) return {{"secret", {{"secretName", secret}}}};
  if (const auto config_map = text_of(volume, "config_map"); !config_map.empty()) return {{"configMap", {{"name", config_map}}}};
  if (const auto host_path = text_of(volume, "host_path"); !host_path.empty()) return {{"hostPath", {{"path", host_path}}}};
  return {{"emptyDir", volume.at("empty_dir")}};
}

void add_mount(Manifest& pod, const std::string& name, const std::string& path, const std::string& source) {
  pod.append(volume_mounts, {{"name", name}, {"mountPath", path}}, source);
}

void add_train_mount(const plan::Plan& plan, Manifest& pod) {
  const bool claimed = !plan.pvc_name.empty();
  const auto source = claimed ? "pvc_name" : "default: without a claim, the data is deleted with the pod";
  const auto volume = claimed ? Json{{"name", "train"}, {"persistentVolumeClaim", {{"claimName", plan.pvc_name}}}}
                              : Json{{"name", "train"}, {"emptyDir", Json::object()}};
  pod.append(volumes, volume, source);
  add_mount(pod, "train", plan.train_mount, plan.train_mount == plan::Request().train_mount ? "default: train_mount" : "train_mount");
}

// The size limit of /dev/shm and its source.
std::optional<plan::Sourced<std::string>> shared_memory(const plan::Plan& plan, const plan::Resources& resources) {
  if (const auto& wanted = plan.options.shared_memory)
    return wanted->value > 0 ? std::optional(plan::Sourced<std::string>{wanted->text, "job_options.shared_memory"}) : std::nullopt;
  if (plan.distribution.workers * plan.processes_per_worker <= 1) return std::nullopt;
  if (!resources.memory) return plan::Sourced<std::string>{"", "default: several processes share memory"};
  return plan::Sourced<std::string>{resources.memory->value.text, resources.memory->source + ": as large as the pod's memory"};
}

void add_shared_memory(const plan::Sourced<std::string>& size, Manifest& pod) {
  Json memory = {{"medium", "Memory"}};
  if (!size.value.empty()) memory["sizeLimit"] = size.value;
  pod.append(volumes, {{"name", "shm"}, {"emptyDir", memory}}, size.source);
  add_mount(pod, "shm", "/dev/shm", size.source);
}

// A unique name for a volume without one.
std::string made_up_name(const Names& names, std::size_t index) {
  auto name = fmt::format("volume-{}", index);
  while (names.given.contains(name)) name += "-x";
  return name;
}

void add_user_volume(const Json& volume, std::size_t index, const std::string& source, Names& names, Manifest& pod) {
  const auto given = text_of(volume, "name");
  const auto name = given.empty() ? made_up_name(names, index) : given;
  // Two entries with the same name, which have the same source (plan::check_mounts), are one volume, mounted twice.
  if (names.added.insert(name).second) {
    auto entry = Json{{"name", name}};
    entry.update(volume_source(volume, read_only(volume) && !names.writable.contains(name)));
    pod.append(volumes, std::move(entry), source);
  }
  Json mount = {{"name", name}, {"mountPath", text_of(volume, "mount_path")}};
  if (const auto sub_path = text_of(volume, "sub_path"); !sub_path.empty()) mount["subPath"] = sub_path;
  if (const auto sub_path = text_of(volume, "sub_path_expr"); !sub_path.empty()) mount["subPathExpr"] = sub_path;
  if (read_only(volume)) mount["readOnly"] = true;
  pod.append(volume_mounts, mount, source);
}

}  // namespace

void add_volumes(const plan::Plan& plan, const std::string& type, const plan::Resources& resources, bool ranks, Manifest& pod) {
  const auto options = plan::options_for(plan.options, type);
  const OptionSource source(plan.options, type);
  pod.set(volumes, Json::array(), "");
  if (!mounted_by_user(options, plan.train_mount)) add_train_mount(plan, pod);
  if (const auto size = shared_memory(plan, resources); ranks && size && !mounted_by_user(options, "/dev/shm")) add_shared_memory(*size, pod);
  auto names = names_of(options.volumes);
  for (std::size_t index = 0; index < options.volumes.size(); ++index)
    add_user_volume(options.volumes[index], index, source.of_item(&PodOptions::volumes, "volumes", index), names, pod);
}

}  // namespace trainstep::job_types
