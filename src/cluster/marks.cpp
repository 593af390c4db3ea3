// SPDX-License-Identifier: Apache-2.0
#include "cluster/marks.h"

#include <fmt/format.h>

#include "cluster/objects.h"
#include "plan/names.h"

namespace trainstep::cluster {

std::string lost_mark(const Json& sent, const Json& answer) {
  if (metadata_of(answer) == nullptr) return "";
  if (const auto name = text(metadata_of(answer), "name"); !name.empty() && name != text(metadata_of(sent), "name")) return "name";
  for (const char* map : {"label", "annotation"}) {
    const auto name = std::string(map) + 's';
    const auto* ours = at(metadata_of(sent), name);
    if (ours == nullptr) continue;
    for (const auto& [key, value] : ours->items())
      if (plan::is_identity_key(key) && text(at(metadata_of(answer), name), key) != text(ours, key)) return std::string(map) + ' ' + key;
  }
  return "";
}

std::string made_by_another(const Json& job) {
  const auto version = text(at(metadata_of(job), "annotations"), version_annotation);
  return version.empty() || version == TRAINSTEP_VERSION
             ? ""
             : fmt::format(" (created by trainstep {}; this is {}, which may compare them differently)", version, TRAINSTEP_VERSION);
}

}  // namespace trainstep::cluster
