// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

#include "agent/await.h"
#include "base/fd.h"
#include "base/file_lock.h"
#include "base/mount.h"
#include "staging/fetching.h"

namespace trainstep::agent {
namespace {

using objectstore::Address;
namespace fs = std::filesystem;

Result<NewestSet::Found> find_set(RunningLoop& loop, objectstore::Client& client, const Address& from) {
  std::optional<NewestSet> newest;
  return await<NewestSet::Found>(loop, [&](const auto& done) { newest.emplace(client, from, done); });
}

objectstore::SyncPlan plan_of(const NewestSet::Found& found) {
  if (!found.set) {
    std::vector<objectstore::Object> plain;
    for (const auto& object : found.there)
      if (is_plain(object.key)) plain.push_back(object);
    return plan_download(plain, {}, {});
  }
  std::map<std::string_view, const objectstore::Object*> objects;
  for (const auto& object : found.there) objects[object.key] = &object;
  // From the paths plan_download() determines which folders there are, and that all of them stay below ours.
  std::vector<objectstore::Object> by_path;
  for (const auto& [path, file] : found.set->files) by_path.push_back({path, file.size, ""});
  auto plan = plan_download(by_path, {}, {});
  for (auto& item : plan.items) {
    const auto& file = found.set->files.at(item.file.path);
    item.file.changed = file.changed;
    item.object = *objects.at(file.key);
  }
  return plan;
}

// Creates a link where there is another link, or nothing.
bool make_link(const fs::path& at, const std::string& target) {
  std::error_code failed;
  fs::create_directories(at.parent_path(), failed);
  if (fs::is_symlink(at, failed)) fs::remove(at, failed);
  fs::create_symlink(target, at, failed);
  return !failed;
}

// Programs may use it to choose the newest checkpoint.
void set_time(const fs::path& file, std::int64_t changed) {
  constexpr std::int64_t second = 1'000'000'000;
  const timespec time{static_cast<time_t>(changed / second), static_cast<long>(changed % second)};
  const timespec times[]{time, time};
  ::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

// Removes links at the paths of the set's folders, so that nothing is written to their targets.
void move_aside(const fs::path& folder, const objectstore::SyncPlan& plan, const CheckpointSet& set) {
  std::error_code ignored;
  const auto look = [&](const std::string& path) {
    if (!objectstore::leads_out(path) && fs::is_symlink(folder / path, ignored)) fs::remove(folder / path, ignored);
  };
  for (const auto& path : plan.folders) look(path);
  for (const auto& [path, changed] : set.folders) look(path);
}

// Restores everything except the contents of files. Creating links changes the times of folders, so those come last.
void finish(const fs::path& folder, const objectstore::SyncPlan& plan, const CheckpointSet& set, const Log& log) {
  for (const auto& item : plan.items) set_time(folder / item.file.path, item.file.changed);
  for (const auto& [path, target] : set.links) {
    const bool stays = !objectstore::leads_out(path) && !objectstore::leads_out(fs::path(path).parent_path() / target);
    if (!stays || !make_link(folder / path, target)) log(fmt::format("checkpoints: skipped {}: cannot create a link to {} there", path, target));
  }
  for (const auto& [path, changed] : set.folders)
    if (!objectstore::leads_out(path)) set_time(folder / path, changed);
}

bool holds_files(const fs::path& folder) {
  const auto tree = objectstore::read_tree(folder);
  return tree && std::ranges::any_of(tree->files, [](const auto& file) { return file.path != restoring_mark; });
}

// The folder during a restore; the restoring process holds the lock on the mark file in it.
class FolderRestore {
 public:
  enum class Begun { by_us, by_another, outlived };
  // Waits for another pod that is filling it. outlived: the contents are on a volume that outlives pods, and are newer than what was sent from it, or
  // the same.
  Result<Begun> begin(RunningLoop& loop, const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    m_mark = folder / restoring_mark;
    m_file = Fd(::open(m_mark.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const bool first = m_file.get() >= 0;
    if (!first) m_file = Fd(::open(m_mark.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!m_file) return Error{ErrorKind::denied, fmt::format("{}: {}", m_mark.string(), std::strerror(errno))};
    while (!(m_lock = FileLock::take(m_file))) TRY(pause(loop));
    if (!fs::exists(m_mark, failed)) return Begun::by_another;
    if (!first || !holds_files(folder) || !lies_on_a_mount(folder)) return Begun::by_us;
    end();
    return Begun::outlived;
  }
  void end() {
    std::error_code ignored;
    fs::remove(m_mark, ignored);
  }

 private:
  static Result<void> pause(RunningLoop& loop) {
    constexpr Duration time{50};
    TRY(await<std::monostate>(loop, [&](const auto& done) { loop.after(time, [done] { done(std::monostate()); }); }));
    return {};
  }

  fs::path m_mark;
  Fd m_file;
  std::optional<FileLock> m_lock;
};

}  // namespace

bool has_checkpoints(const plan::TaskCheckpoints& checkpoints) {
  std::error_code unknown;
  return !fs::exists(fs::path(checkpoints.path) / restoring_mark, unknown) && holds_files(checkpoints.path);
}

Result<void> restore_checkpoints(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, const Log& log) {
  constexpr int max_tries = 5;
  ASSIGN(const auto from, Address::parse(checkpoints.to.uri));
  auto& client = stores.of(checkpoints.to);
  std::optional<FolderRestore> filling;
  for (int tries = 1;; ++tries) {
    ASSIGN(const auto found, find_set(loop, client, from));
    const auto plan = plan_of(found);
    if (!found.set && found.incomplete > 0) log(fmt::format("checkpoints: none of the {} saved states is complete", found.incomplete));
    if (const auto left_out = objectstore::describe_left_out(plan.left_out); !left_out.empty()) log("checkpoints: " + left_out);
    if (plan.items.empty()) return {};
    if (!filling) {
      ASSIGN(const auto begun, filling.emplace().begin(loop, checkpoints.path));
      if (begun == FolderRestore::Begun::outlived) log(fmt::format("checkpoints: leaving {} unchanged", checkpoints.path));
      if (begun != FolderRestore::Begun::by_us) return {};
    }
    if (found.set) move_aside(checkpoints.path, plan, *found.set);
    const auto began = loop.now();
    std::unique_ptr<objectstore::Transfer> transfer;
    const auto fetched = await<std::monostate>(loop, [&](const auto& done) {
      const auto ended = [done](const Result<void>& result) { done(result ? Result<std::monostate>(std::monostate()) : result.error()); };
      transfer = objectstore::download(client, plan, checkpoints.path, from, {nullptr, ended}, stores.limits());
    });
    // Another pod has saved a newer set meanwhile and removed this one.
    const bool overtaken = !fetched && (fetched.error().kind == ErrorKind::not_found || fetched.error().kind == ErrorKind::conflict);
    if (overtaken && tries < max_tries) continue;
    if (!fetched) return fetched.error();
    if (found.set) finish(checkpoints.path, plan, *found.set, log);
    filling->end();
    log(fmt::format("checkpoints of an earlier attempt: {}",
                    staging::describe({plan.bytes, plan.items.size(), std::chrono::duration_cast<Duration>(loop.now() - began)})));
    return {};
  }
}

}  // namespace trainstep::agent
