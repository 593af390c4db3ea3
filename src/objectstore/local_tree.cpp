// SPDX-License-Identifier: Apache-2.0
#include "objectstore/local_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "data/digest.h"

namespace trainstep::objectstore {
namespace fs = std::filesystem;
namespace {

Result<LocalFile> state_of(const fs::path& file, std::string path) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return file_error("read", file, errno);
  if (!S_ISREG(status.st_mode)) return input_error(fmt::format("{} cannot be uploaded: only files, folders and links to files can", file.string()));
  constexpr std::int64_t second = 1'000'000'000;
  return LocalFile{std::move(path), status.st_size, status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec};
}

// A name of its own: others may write to the same volume, and the target's name may be as long as names can be.
fs::path name_beside(const fs::path& target) { return target.parent_path() / fmt::format(".{}.part", random_hex()); }

// A name for a file that has none. → 0 or errno.
int give_name(int fd, const fs::path& name) {
  const auto unnamed = fmt::format("/proc/self/fd/{}", fd);
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace

Result<std::vector<LocalFile>> read_tree(const fs::path& root) {
  std::vector<LocalFile> files;
  std::error_code code;
  if (!fs::is_directory(root, code)) {
    ASSIGN(files.emplace_back(), state_of(root, ""));
    return files;
  }
  fs::recursive_directory_iterator entries(root, code);
  for (; !code && entries != fs::recursive_directory_iterator(); entries.increment(code)) {
    if (entries->is_directory(code) && !entries->is_symlink(code)) continue;
    ASSIGN(files.emplace_back(), state_of(entries->path(), entries->path().lexically_relative(root).string()));
  }
  if (code) return file_error("read the folder", root, code.value());
  std::ranges::sort(files, {}, &LocalFile::path);
  return files;
}

Result<LocalFile> read_state(const fs::path& root, const std::string& path) { return state_of(path.empty() ? root : root / path, path); }

Result<std::string> read_part(const fs::path& file, std::int64_t first, std::int64_t size) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return file_error("read", file, errno);
  std::string content(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const auto count = ::pread(fd.get(), content.data() + done, content.size() - done, first + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("read", file, errno);
    if (count == 0) return input_error(fmt::format("{} has become shorter while it was read", file.string()));
    done += static_cast<std::size_t>(count);
  }
  return content;
}

GrowingFile::GrowingFile(fs::path target, fs::path beside, Fd fd) : m_target(std::move(target)), m_beside(std::move(beside)), m_fd(std::move(fd)) {}

GrowingFile::~GrowingFile() {
  if (!m_finished && !m_beside.empty()) ::unlink(m_beside.c_str());
}

Result<std::unique_ptr<GrowingFile>> GrowingFile::create(fs::path target) {
  if (target.has_parent_path()) TRY(make_directories(target.parent_path()));
  const auto folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  fs::path beside;
  Fd fd(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  if (!fd) {
    beside = name_beside(target);
    fd = Fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  }
  if (!fd) return file_error("write", target, errno);
  return std::unique_ptr<GrowingFile>(new GrowingFile(std::move(target), std::move(beside), std::move(fd)));
}

Result<void> GrowingFile::outcome(int error) const {
  if (error != 0) return file_error("write", m_target, error);
  return {};
}

Result<void> GrowingFile::write(std::int64_t first, std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pwrite(m_fd.get(), bytes.data(), bytes.size(), first);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return outcome(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    first += count;
  }
  return {};
}

// Not synced: what is lost with the machine is fetched again.
Result<void> GrowingFile::finish() {
  if (m_beside.empty()) {
    const int error = give_name(m_fd.get(), m_target);
    m_finished = error == 0;
    if (m_finished) return {};
    if (error != EEXIST) return outcome(error);
    auto beside = name_beside(m_target);  // a link takes nobody's place
    TRY(outcome(give_name(m_fd.get(), beside)));
    m_beside = std::move(beside);
  }
  m_fd.close();
  if (::rename(m_beside.c_str(), m_target.c_str()) != 0) return file_error("write", m_target, errno);
  m_finished = true;
  return {};
}

}  // namespace trainstep::objectstore
