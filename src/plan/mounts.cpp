// SPDX-License-Identifier: Apache-2.0
#include "plan/mounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/printable.h"
#include "plan/data.h"
#include "plan/names.h"

namespace trainstep::plan {
namespace {

// The names that volumes of Trainstep have. If the user mounts a volume of that name at the same path, it replaces ours.
std::set<std::string> own_names(const Json& volumes, const std::string& train_mount) {
  const std::array<std::pair<std::string, std::string>, 2> own{{{"train", normal_path(train_mount)}, {"shm", "/dev/shm"}}};
  std::set<std::string> names;
  for (const auto& [name, path] : own)
    if (std::none_of(volumes.begin(), volumes.end(), [&, &name = name, &path = path](const Json& other) {
          return text_of(other, "name") == name && normal_path(text_of(other, "mount_path")) == path;
        }))
      names.insert(name);
  return names;
}

Result<void> check_name(const std::string& name, const std::string& place, const std::set<std::string>& own) {
  constexpr std::size_t max_label_length = 63;
  if (name.empty()) return {};
  if (name.size() > max_label_length || name.find('.') != std::string::npos)
    return input_error(fmt::format("{}: \"{}\" is not a valid volume name: use lower-case letters, digits and dashes, at most {}", place,
                                   name.substr(0, 100), max_label_length));
  TRY(check_object_name(place, name));
  if (name.starts_with("trainstep") || own.contains(name))
    return input_error(fmt::format("{}: \"{}\" is reserved for a volume of trainstep; choose another name", place, name));
  return {};
}

}  // namespace

std::string normal_path(const std::string& path) {
  auto text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

Result<void> check_mount_path(std::string_view where, const std::string& path) {
  if (path.find(':') != std::string::npos || has_control(path))
    return input_error(fmt::format("{}: {} contains a colon or a control character, which Kubernetes rejects", where, to_text(path)));
  const auto normal = normal_path(path);
  if (normal == "/") return input_error(fmt::format("{}: / would hide all files of the image; choose another path", where));
  if (normal == agent_folder || normal.starts_with(std::string(agent_folder) + "/"))
    return input_error(fmt::format("{}: {} is reserved for trainstep; choose another path", where, normal));
  return {};
}

Json volume_part(const Json& volume) {
  auto part = volume;
  for (const auto* of_the_mount : {"name", "mount_path", "sub_path", "sub_path_expr", "read_only"}) part.erase(of_the_mount);
  return part;
}

Result<void> check_mounts(const Json& volumes, const std::string& train_mount) {
  const std::string where = "job_options.volumes";
  const auto own = own_names(volumes, train_mount);
  std::map<std::string, Json> named;
  std::map<std::string, std::size_t> mounted;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const auto place = fmt::format("{}[{}]", where, i);
    const auto name = text_of(volumes[i], "name");
    TRY(check_name(name, place + ".name", own));
    if (!name.empty()) {
      const auto [known, first] = named.emplace(name, volume_part(volumes[i]));
      if (!first && known->second != volume_part(volumes[i]))
        return input_error(fmt::format("{}.name: \"{}\" is already the name of another volume; choose another name", place, name));
    }
    const auto path = normal_path(text_of(volumes[i], "mount_path"));
    const auto [other, first] = mounted.emplace(path, i);
    if (!first) return input_error(fmt::format("{}.mount_path: {} is already used by {}[{}] ", place, path, where, other->second));
  }
  return {};
}

}  // namespace trainstep::plan
