// SPDX-License-Identifier: Apache-2.0
#include "data/output_moves.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "base/remove_tree.h"
#include "base/temporary_permissions.h"
#include "data/output_paths.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

// Folders of a container image cannot be renamed (EXDEV from overlayfs), even within one folder.
Result<void> move_by_copy(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, code);
  if (!code) return remove_tree(from);
  static_cast<void>(remove_tree(to));
  return output_error("write", to, code.value());
}

}  // namespace

Error output_error(std::string_view verb, const fs::path& path, int code) {
  auto error = file_error(verb, path, code);
  if (error.kind == ErrorKind::input || error.kind == ErrorKind::not_found) error.kind = ErrorKind::internal;
  return error;
}

// Moving a folder requires write permission on it, because its entry ".." changes.
Result<void> move_output(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  const TemporaryPermissions above(from.parent_path()), self(from);
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return errno == EXDEV ? move_by_copy(from, to) : output_error("write", to, errno);
}

bool exchange_outputs(const fs::path& one, const fs::path& other) {
  const TemporaryPermissions above(one.parent_path()), first(one), second(other);
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code))
    if (entry.path().filename() != OutputPaths::inside_name && entry.path().filename() != "lost+found") entries.push_back(entry.path());
  return entries;
}

// The program would find leftovers that cannot be removed, and they would be delivered with its output.
Result<void> empty_place(const fs::path& place, const fs::path& target) {
  auto removed = remove_tree(place);
  if (removed) return removed;
  return Error{
      removed.error().kind == ErrorKind::denied ? ErrorKind::denied : ErrorKind::input,
      fmt::format("leftovers of an earlier run next to {} cannot be removed: {}; unmount or remove them", target.string(), removed.error().message)};
}

}  // namespace trainstep
