// SPDX-License-Identifier: Apache-2.0
#include "local/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/remove_tree.h"
#include "data/output_folder.h"

namespace trainstep::local {

namespace fs = std::filesystem;

namespace {

constexpr auto words = "This folder was created by a run of trainstep; another run may overwrite its contents.\n";

bool is_marked(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(folder / run_folder_mark, ignored));
}

Error at_work(const fs::path& path) {
  return {ErrorKind::conflict, fmt::format("run-dir: another run is using {}; choose another folder, or wait for it to finish", path.string())};
}

}  // namespace

Result<void> RunFolder::check(const fs::path& path) {
  std::error_code code;
  if (!fs::is_directory(path, code) || is_marked(path)) return {};
  for (auto entry = fs::directory_iterator(path, code); !code && entry != fs::directory_iterator(); entry.increment(code))
    if (entry->path().filename() != "lost+found")
      return input_error(
          fmt::format("run-dir: {} contains {} and was not created by a run, which would overwrite its contents; choose a new or empty folder",
                      path.string(), entry->path().filename().string()));
  if (code) return file_error("read", path, code.value());
  return {};
}

Result<RunFolder> RunFolder::claim(const fs::path& path) {
  RunFolder folder;
  folder.m_path = path;
  std::error_code ignored;
  folder.m_made = !fs::exists(path, ignored);
  ASSIGN(folder.m_parents, MadeFolders::make(path.parent_path()));
  TRY(make_directories(path));
  folder.m_folder = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto lock = folder.m_folder ? FileLock::take(folder.m_folder) : FileLock();
  if (!lock) return at_work(path);
  folder.m_lock = std::move(*lock);
  TRY(folder.hold_names());
  if (!is_marked(path)) TRY(write_file_atomically(path / run_folder_mark, words));
  return folder;
}

// Locks the given path and the path that it resolves to: either may point elsewhere later.
Result<void> RunFolder::hold_names() {
  std::error_code unknown;
  const auto real = fs::canonical(m_path, unknown);
  for (const auto& name : std::set{m_path, unknown ? m_path : real}) {
    auto held = FileLock::take_path(name);
    if (!held) return at_work(m_path);
    m_names.push_back(std::move(*held));
  }
  return {};
}

Result<void> RunFolder::check_kept() const {
  if (was_removed(m_folder))
    return Error{ErrorKind::conflict, fmt::format("run-dir: {} was removed during the run; its contents are incomplete", m_path.string())};
  if (const auto why = why_hidden(m_path); !why.empty()) return Error{ErrorKind::conflict, "run-dir: " + why};
  const auto now = moved_folder(m_folder, m_path);
  if (now.empty()) return {};
  return Error{ErrorKind::conflict,
               fmt::format("run-dir: {} was renamed or replaced during the run, and is {} now; the contents at its path are incomplete",
                           m_path.string(), now.string())};
}

Result<void> RunFolder::discard() {
  std::error_code ignored;
  if (!check_kept() || fs::is_symlink(m_path, ignored)) return {};
  if (m_made) TRY(remove_tree(m_path));
  m_parents.remove_empty();  // unless another run has used them
  return {};
}

}  // namespace trainstep::local
