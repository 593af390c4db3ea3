// SPDX-License-Identifier: Apache-2.0
#include "base/walk_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace trainstep {
namespace {

constexpr std::size_t max_open_folders = 32;  // folders that are kept open; programs nest folders deeper than the limit on open files

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

struct Folder {
  std::size_t length = 0;  // of its path
  Fd folder;
  ino_t number = 0;
  std::vector<std::string> left;  // its folders that are still to be entered
};

class Walker {
 public:
  explicit Walker(const std::function<Walk(const std::string&, const struct stat&)>& see) : m_see(see) {}

  int operator()(const std::filesystem::path& root) {
    enter(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (!m_levels.empty() && !m_over) {
      auto& level = m_levels.back();
      if (level.left.empty()) {
        leave();
        continue;
      }
      m_path.resize(level.length);
      m_path.append("/").append(level.left.back());
      const auto name = std::move(level.left.back());
      level.left.pop_back();
      enter(::openat(level.folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    return m_code;
  }

 private:
  void unseen(int code) {
    if (code == ENOENT && !m_levels.empty()) return;  // removed concurrently
    m_code = code;
    m_over = code != EACCES;
  }

  void enter(int fd) {
    Folder level{.length = m_path.size(), .folder = Fd(fd), .left = {}};
    if (fd < 0) return unseen(errno);
    const int code = each_name(fd, [&](const char* name) {
      look_at(level, name);
      return !m_over;
    });
    if (code != 0) return unseen(code);
    if (m_levels.size() >= max_open_folders) m_levels[m_levels.size() - max_open_folders].folder.close();
    struct stat self{};
    if (::fstat(fd, &self) == 0) level.number = self.st_ino;
    m_levels.push_back(std::move(level));
  }

  void look_at(Folder& level, const char* name) {
    struct stat found{};
    if (::fstatat(level.folder.get(), name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) m_code = EACCES;
      return;
    }
    m_path.resize(level.length);
    m_path.append("/").append(name);
    const auto next = m_see(m_path, found);
    m_over = next == Walk::stop;
    if (next == Walk::on && S_ISDIR(found.st_mode)) level.left.emplace_back(name);
  }

  // Reopens the parent by "..", which is another folder if this one was moved.
  void leave() {
    const auto level = std::move(m_levels.back());
    m_levels.pop_back();
    if (m_levels.empty() || m_levels.back().folder) return;
    auto& above = m_levels.back();
    above.folder = Fd(::openat(level.folder.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat found{};
    if (!above.folder || ::fstat(above.folder.get(), &found) != 0) return unseen(errno == ENOENT ? ESTALE : errno);
    if (found.st_ino != above.number) unseen(ESTALE);
  }

  const std::function<Walk(const std::string&, const struct stat&)>& m_see;
  std::vector<Folder> m_levels;
  std::string m_path;
  int m_code = 0;
  bool m_over = false;
};

}  // namespace

int each_name(int folder, const std::function<bool(const char* name)>& see) {
  const int copy = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, CloseFolder> entries(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!entries) {
    const int code = errno;
    if (copy >= 0) ::close(copy);
    return code;
  }
  for (errno = 0; const auto* entry = ::readdir(entries.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !see(entry->d_name)) return 0;
  }
  return errno;
}

int walk_tree(const std::filesystem::path& root, const std::function<Walk(const std::string&, const struct stat&)>& see) { return Walker(see)(root); }

}  // namespace trainstep
