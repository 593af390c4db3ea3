// SPDX-License-Identifier: Apache-2.0
#include "base/remove_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/mount.h"
#include "base/temporary_permissions.h"
#include "base/walk_tree.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t open_levels = 32;  // innermost folders that are kept open; programs nest folders deeper than the limit on open files
constexpr std::size_t named_at_most = 3;
constexpr auto mounted = "a file system is mounted there";

struct Level {
  std::string name;
  Fd folder;
  struct stat self{};
  std::vector<std::string> left;  // entries still to be removed
  bool stays = false;             // something in it could not be removed
};

class Removal {
 public:
  Removal(fs::path above, std::string name) : m_above(std::move(above)), m_name(std::move(name)) {}

  Result<void> operator()() {
    Level above{.name = {}, .folder = Fd(::open(m_above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), .left = {m_name}};
    if (!above.folder) return errno == ENOENT || errno == ENOTDIR ? Result<void>() : failed(errno);
    m_mount = mount_of(above.folder.get());
    ::fstat(above.folder.get(), &above.self);
    m_levels.push_back(std::move(above));
    while (!m_levels.empty()) m_levels.back().left.empty() ? leave() : remove_next();
    if (m_count == 0) return {};
    if (m_count > named_at_most) m_told += fmt::format(", and {} more", m_count - named_at_most);
    return Error{m_error_kind, "cannot remove " + m_told};
  }

 private:
  Result<void> failed(int code) {
    stays(m_name, std::strerror(code), code);
    return Error{m_error_kind, "cannot remove " + m_told};
  }

  void stays(const std::string& name, std::string_view why, int code = 0) {
    if (!m_levels.empty()) m_levels.back().stays = true;
    if (m_count++ == 0) m_error_kind = code == EACCES || code == EPERM || code == EROFS ? ErrorKind::denied : ErrorKind::internal;
    if (m_count > named_at_most) return;
    auto path = m_above;
    for (const auto& level : m_levels)
      if (!level.name.empty()) path /= level.name;
    m_told += fmt::format("{}{}: {}", m_told.empty() ? "" : "; ", (path / name).string(), why);
  }

  // Tries unlink first and treats the entry as a folder only if that fails, whatever it was at listing time.
  void remove_next() {
    auto& level = m_levels.back();
    const auto name = std::move(level.left.back());
    level.left.pop_back();
    const int here = level.folder.get();
    if (::unlinkat(here, name.c_str(), 0) == 0 || errno == ENOENT) return;
    const int code = errno;
    Fd found(::openat(here, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!found) return stays(name, code == EBUSY ? mounted : std::strerror(code), code);
    if (mount_of(found.get()) != m_mount) return stays(name, mounted);
    enter(name, found.get());
  }

  void enter(const std::string& name, int found) {
    grant_owner_permissions(found);
    Level level{.name = name, .folder = Fd(::openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), .left = {}};
    if (!level.folder) return stays(name, std::strerror(errno), errno);
    ::fstat(level.folder.get(), &level.self);
    if (const int code = list(level); code != 0) return stays(name, std::strerror(code), code);
    if (m_levels.size() > open_levels) m_levels.back().folder.close();
    m_levels.push_back(std::move(level));
  }

  static int list(Level& level) {
    return each_name(level.folder.get(), [&](const char* name) {
      level.left.emplace_back(name);
      return true;
    });
  }

  void leave() {
    const auto level = std::move(m_levels.back());
    m_levels.pop_back();
    if (m_levels.empty()) return;
    auto& above = m_levels.back();
    if (!above.folder && !back_to(above, level.folder.get())) return;
    if (level.stays)
      above.stays = true;
    else if (::unlinkat(above.folder.get(), level.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      stays(level.name, std::strerror(errno), errno);
  }

  // Reopens the parent by "..", which is another folder if this one was moved.
  bool back_to(Level& above, int from) {
    above.folder = Fd(::openat(from, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat found{};
    if (above.folder && ::fstat(above.folder.get(), &found) == 0 && found.st_ino == above.self.st_ino && found.st_dev == above.self.st_dev)
      return true;
    stays("", "it was moved in the meantime");
    m_levels.clear();
    return false;
  }

  fs::path m_above;
  std::string m_name;
  Mount m_mount;
  std::vector<Level> m_levels;
  std::size_t m_count = 0;
  std::string m_told;
  ErrorKind m_error_kind = ErrorKind::internal;
};

}  // namespace

Result<void> remove_tree(const fs::path& path) {
  std::error_code code;
  const auto whole = fs::absolute(path, code).lexically_normal();
  return Removal(whole.has_filename() ? whole.parent_path() : whole.parent_path().parent_path(),
                 whole.has_filename() ? whole.filename() : whole.parent_path().filename())();
}

}  // namespace trainstep
