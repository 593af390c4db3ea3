// SPDX-License-Identifier: Apache-2.0
#include "base/made_folders.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <system_error>
#include <utility>

#include "base/files.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

// The missing folders on the path to this one, the deepest last.
std::vector<fs::path> missing(fs::path folder) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (; folder.has_relative_path() && !fs::exists(fs::symlink_status(folder, code)); folder = folder.parent_path())
    folders.insert(folders.begin(), folder);
  return folders;
}

}  // namespace

Result<MadeFolders> MadeFolders::make(const fs::path& path) {
  MadeFolders folders;
  for (const auto& folder : missing(path))
    if (!folders.create(folder)) folders = {};  // those above it belong to whoever created this one
  TRY(make_directories(path));
  return folders;
}

bool MadeFolders::create(const fs::path& path) {
  constexpr mode_t all = 0777;
  struct stat made{};
  if (::mkdir(path.c_str(), all) != 0) return false;
  Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder || ::fstat(folder.get(), &made) != 0) return false;
  m_made.push_back({path.filename(), made.st_dev, made.st_ino});
  m_deepest = std::move(folder);
  return true;
}

void MadeFolders::remove_empty() {
  const auto is = [](const struct stat& found, const Made& made) { return found.st_dev == made.device && found.st_ino == made.inode; };
  auto folder = std::move(m_deepest);
  for (auto made = m_made.rbegin(); folder && made != m_made.rend(); ++made) {
    struct stat self{}, there{};
    Fd above(::openat(folder.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!above || ::fstat(folder.get(), &self) != 0 || !is(self, *made)) return;
    if (::fstatat(above.get(), made->name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || !is(there, *made)) return;
    if (::unlinkat(above.get(), made->name.c_str(), AT_REMOVEDIR) != 0) return;
    folder = std::move(above);
  }
}

}  // namespace trainstep
