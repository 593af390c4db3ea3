// SPDX-License-Identifier: Apache-2.0
#include "job_types/size.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "job_types/templates.h"
#include "plan/exec_size.h"

namespace trainstep::job_types {
namespace {

// Sums up the bytes of strings by source.
void add_sizes(const Manifest& manifest, const Json& json, const std::string& pointer, std::map<std::string, std::size_t>& sizes) {
  constexpr std::size_t worth_counting = 256;
  if (json.is_string() && json.get_ref<const std::string&>().size() > worth_counting)
    sizes[manifest.source_of(pointer)] += json.get_ref<const std::string&>().size();
  if (json.is_object())
    for (const auto& [key, member] : json.items()) add_sizes(manifest, member, pointer + "/" + escaped(key), sizes);
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i) add_sizes(manifest, json[i], fmt::format("{}/{}", pointer, i), sizes);
}

// Kubernetes replaces $$ by $.
std::size_t size_in_container(const Json& text) {
  const auto& written = text.get_ref<const std::string&>();
  auto size = written.size();
  for (auto at = written.find("$$"); at != std::string::npos; at = written.find("$$", at + 2)) --size;
  return size;
}

Error too_long(const Manifest& manifest, const std::string& pointer, const std::string& what, std::size_t size) {
  return input_error(fmt::format("{}: {} has {} bytes, the Linux limit is {}; mount it as a file (job_options.volumes)", manifest.source_of(pointer),
                                 what, size, plan::max_exec_string_length - 1));
}

Result<void> check_container(const Manifest& manifest, const Json& container, const std::string& pointer) {
  for (const auto* key : {"command", "args"}) {
    const auto* words = trainstep::find(container, key);
    for (std::size_t i = 0; words != nullptr && words->is_array() && i < words->size(); ++i)
      if ((*words)[i].is_string())
        if (const auto size = size_in_container((*words)[i]); size >= plan::max_exec_string_length)
          return too_long(manifest, fmt::format("{}/{}/{}", pointer, key, i), "an argument of a container's command line", size);
  }
  const auto* variables = trainstep::find(container, "env");
  for (std::size_t i = 0; variables != nullptr && variables->is_array() && i < variables->size(); ++i) {
    const auto* name = trainstep::find((*variables)[i], "name");
    const auto* value = trainstep::find((*variables)[i], "value");
    if (name == nullptr || value == nullptr || !name->is_string() || !value->is_string()) continue;
    if (const auto size = name->get_ref<const std::string&>().size() + 1 + size_in_container(*value); size >= plan::max_exec_string_length)
      return too_long(manifest, fmt::format("{}/env/{}", pointer, i), "the variable " + name->get<std::string>(), size);
  }
  return {};
}

Result<void> check_containers(const Manifest& manifest) {
  for (const auto& [pointer, type, pod] : pod_templates(manifest.json())) {
    const auto* spec = trainstep::find(*pod, "spec");
    for (const auto* key : {"initContainers", "containers"}) {
      const auto* containers = spec == nullptr ? nullptr : trainstep::find(*spec, key);
      for (std::size_t i = 0; containers != nullptr && containers->is_array() && i < containers->size(); ++i)
        TRY(check_container(manifest, (*containers)[i], fmt::format("{}/spec/{}/{}", pointer, key, i)));
    }
  }
  return {};
}

}  // namespace

Result<void> check_size(const Manifest& manifest) {
  TRY(check_containers(manifest));
  const auto bytes = to_text(manifest.json()).size();
  if (bytes <= max_manifest_size) return {};
  std::map<std::string, std::size_t> sizes;
  add_sizes(manifest, manifest.json(), "", sizes);
  const auto most = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return input_error(fmt::format("the job's manifest has {} bytes, the Kubernetes limit is {}{}; pass large values as files or in a ConfigMap", bytes,
                                 max_manifest_size, most == sizes.end() ? "" : fmt::format(" ({} of them from {})", most->second, most->first)));
}

}  // namespace trainstep::job_types
