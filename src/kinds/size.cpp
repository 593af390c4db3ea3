// SPDX-License-Identifier: Apache-2.0
#include "kinds/size.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace trainstep::kinds {
namespace {

// By source, how many bytes its texts have.
void add_sizes(const Manifest& manifest, const Json& json, const std::string& pointer, std::map<std::string, std::size_t>& sizes) {
  constexpr std::size_t worth_counting = 256;
  if (json.is_string() && json.get_ref<const std::string&>().size() > worth_counting)
    sizes[manifest.source_of(pointer)] += json.get_ref<const std::string&>().size();
  if (json.is_object())
    for (const auto& [key, member] : json.items()) add_sizes(manifest, member, pointer + "/" + escaped(key), sizes);
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i) add_sizes(manifest, json[i], fmt::format("{}/{}", pointer, i), sizes);
}

}  // namespace

Result<void> check_size(const Manifest& manifest) {
  const auto bytes = to_text(manifest.json()).size();
  if (bytes <= largest_manifest) return {};
  std::map<std::string, std::size_t> sizes;
  add_sizes(manifest, manifest.json(), "", sizes);
  const auto most = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return input_error(fmt::format("the job's manifest has {} bytes, Kubernetes takes {}{}; pass large values as files or in a ConfigMap", bytes,
                                 largest_manifest, most == sizes.end() ? "" : fmt::format(" ({} of them from {})", most->second, most->first)));
}

}  // namespace trainstep::kinds
