// SPDX-License-Identifier: Apache-2.0
#include "objectstore/sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace trainstep::objectstore {
namespace {

bool same(const LocalFile& file, const Object& object, const KnownFiles& known) {
  const auto found = known.find(file.path);
  if (found == known.end() || object.etag.empty()) return false;
  const auto& last = found->second;
  return file.size == last.size && file.changed == last.changed && object.size == last.size && object.etag == last.etag;
}

// Whether a key is a path that stays below its folder.
bool is_path(std::string_view key) {
  return std::ranges::none_of(split(key, '/'), [](std::string_view part) { return part.empty() || part == "." || part == ".."; }) &&
         key.find('\0') == std::string_view::npos;
}

void add(SyncPlan& plan, Travel travel, std::int64_t bytes) {
  plan.bytes += bytes;
  plan.travels.push_back(std::move(travel));
}

void finish(SyncPlan& plan, std::int64_t (*size)(const Travel&)) {
  std::ranges::sort(plan.travels, [size](const Travel& a, const Travel& b) {
    return std::pair(-size(a), std::string_view(a.object.key)) < std::pair(-size(b), std::string_view(b.object.key));
  });
}

void add_parents(std::set<std::string>& folders, std::string_view path) {
  for (auto slash = path.rfind('/'); slash != std::string_view::npos; slash = path.rfind('/')) {
    path = path.substr(0, slash);
    if (!folders.emplace(path).second) return;
  }
}

}  // namespace

SyncPlan plan_upload(const std::vector<LocalFile>& files, const std::vector<Object>& there, const KnownFiles& known) {
  std::map<std::string_view, const Object*> objects;
  for (const auto& object : there) objects[object.key] = &object;
  SyncPlan plan;
  for (const auto& file : files) {
    const auto found = objects.find(file.path);
    if (found != objects.end() && same(file, *found->second, known))
      ++plan.equal;
    else
      add(plan, {file, {file.path, file.size, ""}}, file.size);
  }
  finish(plan, [](const Travel& travel) { return travel.file.size; });
  return plan;
}

Result<SyncPlan> plan_download(const std::vector<Object>& there, const std::vector<LocalFile>& files, const KnownFiles& known) {
  std::map<std::string_view, const LocalFile*> local;
  for (const auto& file : files) local[file.path] = &file;
  SyncPlan plan;
  std::set<std::string> folders;
  for (const auto& object : there) {
    const bool folder = object.key.ends_with('/');  // what some tools leave for an empty folder
    const auto path = std::string_view(object.key).substr(0, object.key.size() - (folder ? 1 : 0));
    if (!path.empty() && !is_path(path)) return input_error(fmt::format("the object \"{}\" cannot be a file below a folder", object.key));
    if (folder) {
      if (!path.empty() && folders.emplace(path).second) add_parents(folders, path);
      continue;
    }
    add_parents(folders, path);
    const auto found = local.find(path);
    if (found != local.end() && same(*found->second, object, known))
      ++plan.equal;
    else
      add(plan, {{object.key, object.size, 0}, object}, object.size);
  }
  for (const auto& object : there)
    if (folders.contains(object.key)) return input_error(fmt::format("the object \"{}\" is a file, and others lie below it", object.key));
  plan.folders.assign(folders.begin(), folders.end());
  finish(plan, [](const Travel& travel) { return travel.object.size; });
  return plan;
}

}  // namespace trainstep::objectstore
