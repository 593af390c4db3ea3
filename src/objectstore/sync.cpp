// SPDX-License-Identifier: Apache-2.0
#include "objectstore/sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "data/place.h"

namespace trainstep::objectstore {
namespace {

bool same(const LocalFile& file, const Object& object, const KnownFiles& known) {
  if (object.etag.empty() || !is_unchanged_since_download(file, known)) return false;
  const auto& last = known.at(file.path);
  return object.size == last.size && object.etag == last.etag;
}

// Why a key cannot be a path that stays below its folder; "" if it can.
std::string_view no_path(std::string_view key) {
  constexpr std::size_t max_name_length = 255;
  for (const auto part : split(key, '/')) {
    if (part.empty() || part == "." || part == "..") return "not a path below a folder";
    if (part.size() > max_name_length) return "a name too long for a file";
  }
  return key.find('\0') == std::string_view::npos ? "" : "not a path below a folder";
}

void add(SyncPlan& plan, TransferItem item, std::int64_t bytes) {
  if (__builtin_add_overflow(plan.bytes, bytes, &plan.bytes)) plan.bytes = std::numeric_limits<std::int64_t>::max();
  plan.items.push_back(std::move(item));
}

// So that a large file does not start last.
void sort_largest_first(SyncPlan& plan, std::int64_t (*size)(const TransferItem&)) {
  std::ranges::sort(plan.items, [size](const TransferItem& a, const TransferItem& b) {
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

bool is_unchanged_since_download(const LocalFile& file, const KnownFiles& known) {
  const auto found = known.find(file.path);
  return found != known.end() && file.size == found->second.size && file.changed == found->second.changed && file.touched == found->second.touched;
}

std::string describe_change(const std::vector<LocalFile>& before, const std::vector<LocalFile>& now) {
  std::map<std::string_view, const LocalFile*> left;
  for (const auto& file : now) left[file.path] = &file;
  const auto name = [](const LocalFile& file) { return file.path.empty() ? std::string("the file") : file.path; };
  for (const auto& file : before) {
    const auto found = left.extract(file.path);
    if (found.empty()) return fmt::format("{} was removed", name(file));
    const auto& other = *found.mapped();
    if (other.size != file.size) return fmt::format("{} changed from {} to {} bytes", name(file), file.size, other.size);
    if (other.changed != file.changed) return fmt::format("{} was rewritten", name(file));
  }
  return left.empty() ? "" : fmt::format("{} was added", name(*left.begin()->second));
}

Result<void> check_names(const std::vector<LocalFile>& files) {
  for (const auto& file : files)
    if (find_invalid_utf8(file.path)) return input_error(fmt::format("\"{}\" is not a valid object name: not UTF-8", file.path));
  return {};
}

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
  sort_largest_first(plan, [](const TransferItem& item) { return item.file.size; });
  return plan;
}

SyncPlan plan_download(const std::vector<Object>& there, const std::vector<LocalFile>& files, const KnownFiles& known) {
  std::map<std::string_view, const LocalFile*> local;
  for (const auto& file : files) local[file.path] = &file;
  SyncPlan plan;
  const auto leave_out = [&plan](const Object& object, std::string_view why) { plan.left_out.push_back(fmt::format("\"{}\": {}", object.key, why)); };
  std::set<std::string> folders;
  std::vector<const Object*> objects;
  for (const auto& object : there) {
    const bool folder = object.key.ends_with('/');  // the marker that some tools create for an empty folder
    const auto path = std::string_view(object.key).substr(0, object.key.size() - (folder ? 1 : 0));
    if (const auto why = path.empty() && !folder ? "" : no_path(path); !why.empty()) {
      if (!folder || object.size > 0) leave_out(object, why);
      continue;
    }
    if (folder && object.size > 0) leave_out(object, "a folder name with content");
    if (folder && folders.emplace(path).second) add_parents(folders, path);
    if (folder) continue;
    add_parents(folders, path);
    objects.push_back(&object);
  }
  for (const auto* object : objects) {
    if (folders.contains(object->key)) {
      leave_out(*object, "both a file and a folder");
      continue;
    }
    const auto found = local.find(object->key);
    if (found != local.end() && same(*found->second, *object, known))
      ++plan.equal;
    else
      add(plan, {{object->key, object->size, 0}, *object}, object->size);
  }
  std::set<std::string_view> wanted;
  for (const auto* object : objects)
    if (!folders.contains(object->key)) wanted.insert(object->key);
  for (const auto& file : files)
    if (!wanted.contains(file.path) && is_unchanged_since_download(file, known)) plan.gone.push_back(file.path);
  plan.folders.assign(folders.begin(), folders.end());
  sort_largest_first(plan, [](const TransferItem& item) { return item.object.size; });
  return plan;
}

}  // namespace trainstep::objectstore
