// SPDX-License-Identifier: Apache-2.0
#include "objectstore/local_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/files.h"
#include "data/digest.h"

namespace trainstep::objectstore {
namespace fs = std::filesystem;
namespace {

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

LocalFile local_file(std::string path, const struct stat& status) {
  return {std::move(path), status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

Result<LocalFile> state_of(const fs::path& file, std::string path) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return file_error("read", file, errno);
  if (!S_ISREG(status.st_mode)) return input_error(fmt::format("cannot upload {}: only files and folders are supported", file.string()));
  return local_file(std::move(path), status);
}

std::string_view sort_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Visits each folder once for each path that leads to it, and keeps track of that path.
class Walk {
 public:
  Walk(const fs::path& root, Links links) : m_root(root), m_treatment(links) {}

  Result<LocalTree> go() {
    struct stat status{};
    if (::stat(m_root.c_str(), &status) != 0) return file_error("read", m_root, errno);
    if (!S_ISDIR(status.st_mode)) {
      ASSIGN(m_tree.files.emplace_back(), state_of(m_root, ""));
      return std::move(m_tree);
    }
    std::error_code failed;
    m_canonical = fs::canonical(m_root, failed);
    if (failed) return file_error("read the folder", m_root, failed.value());
    TRY(folder(m_root, "", status));
    std::ranges::sort(m_tree.files, {}, &LocalFile::path);
    std::ranges::sort(m_tree.empty_folders);
    std::ranges::sort(m_tree.left_out);
    return std::move(m_tree);
  }

 private:
  // What disappears during the walk is treated as absent.
  static bool is_gone(const std::error_code& code) { return code == std::errc::no_such_file_or_directory; }

  Result<void> folder(const fs::path& at, const std::string& path, const struct stat& status) {
    std::error_code failed;
    m_way.emplace_back(status.st_dev, status.st_ino);
    const auto before = travelling();
    fs::directory_iterator entries(at, failed);
    if (failed && is_gone(failed) && !path.empty()) failed.clear(), entries = {};
    for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
      auto name = entries->path().filename().string();
      TRY(entry(entries->path(), path.empty() ? std::move(name) : path + '/' + name));
    }
    m_way.pop_back();
    if (failed) return file_error("read the folder", at, failed.value());
    if (!path.empty() && travelling() == before)
      m_tree.empty_folders.push_back(path);
    else if (!path.empty())
      m_tree.folders[path] = nanoseconds(status.st_mtim);
    return {};
  }

  [[nodiscard]] std::size_t travelling() const { return m_tree.files.size() + m_tree.empty_folders.size() + m_tree.links.size(); }

  Result<void> entry(const fs::path& at, const std::string& path) {
    struct stat itself{}, status{};
    if (::lstat(at.c_str(), &itself) != 0) return errno == ENOENT ? Result<void>() : file_error("read", at, errno);
    status = itself;
    const bool link = S_ISLNK(itself.st_mode);
    if (link && ::stat(at.c_str(), &status) != 0) {
      if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR) return file_error("read", at, errno);
      return leave_out(path, "a link that is broken");
    }
    const bool travels = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
    if (link && travels && m_treatment == Links::kept && keep(at, path)) return {};
    if (S_ISREG(status.st_mode)) return m_tree.files.push_back(local_file(path, status)), Result<void>();
    if (!S_ISDIR(status.st_mode)) return leave_out(path, sort_of(status.st_mode));
    return link ? linked_folder(at, path, status) : folder(at, path, status);
  }

  // false: its target is outside the tree.
  bool keep(const fs::path& at, const std::string& path) {
    std::error_code failed;
    const auto target = fs::canonical(at, failed);
    if (failed || !lies_in(target, m_canonical)) return false;
    const auto own = fs::path(path).parent_path();
    auto said = fs::read_symlink(at, failed);
    if (failed) return false;
    if (said.is_absolute() || leads_out(own / said)) said = target.lexically_relative(m_canonical / own);
    m_tree.links[path] = said.string();
    return true;
  }

  Result<void> linked_folder(const fs::path& at, const std::string& path, const struct stat& status) {
    constexpr int max_links = 8;  // nested: links between folders could otherwise be followed without end
    std::error_code failed;
    const auto target = fs::canonical(at, failed);
    if (failed) return is_gone(failed) ? leave_out(path, "a link that is broken") : file_error("read", at, failed.value());
    if (std::ranges::find(m_way, std::pair(status.st_dev, status.st_ino)) != m_way.end() || m_links == max_links)
      return leave_out(path, "a link that loops");
    if (!lies_in(target, m_canonical)) return leave_out(path, "a link to a folder elsewhere");
    ++m_links;
    auto done = folder(at, path, status);
    --m_links;
    return done;
  }

  Result<void> leave_out(const std::string& path, std::string_view why) {
    m_tree.left_out.push_back(fmt::format("{}: {}", path, why));
    return {};
  }

  fs::path m_root, m_canonical;
  Links m_treatment;
  std::vector<std::pair<dev_t, ino_t>> m_way;  // folders from the root to the current one
  int m_links = 0;                             // of them, reached through links
  LocalTree m_tree;
};

// A unique name: others may write to the same volume, and the target's name may have the maximum length already.
fs::path name_beside(const fs::path& target) { return target.parent_path() / fmt::format(".{}.part", random_hex()); }

// Links an unnamed file to a name. Returns 0 or errno.
int give_name(int fd, const fs::path& name) {
  const auto unnamed = fmt::format("/proc/self/fd/{}", fd);
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace

Result<LocalTree> read_tree(const fs::path& root, Links links) { return Walk(root, links).go(); }

bool leads_out(const fs::path& path) {
  const auto normal = path.lexically_normal();
  return normal.empty() || normal.is_absolute() || *normal.begin() == "..";
}

std::string describe_left_out(const std::vector<std::string>& left_out) {
  constexpr std::size_t most = 5;
  if (left_out.empty()) return "";
  const auto shown = std::span(left_out).first(std::min(most, left_out.size()));
  return fmt::format("skipped: {}{}", fmt::join(shown, "; "),
                     left_out.size() > most ? fmt::format("; and {} more", left_out.size() - most) : std::string());
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
    if (count == 0) return input_error(fmt::format("{} was truncated while it was being read", file.string()));
    done += static_cast<std::size_t>(count);
  }
  return content;
}

PartialFile::PartialFile(fs::path target, fs::path beside, Fd fd) : m_target(std::move(target)), m_beside(std::move(beside)), m_fd(std::move(fd)) {}

PartialFile::~PartialFile() {
  if (!m_finished && !m_beside.empty()) ::unlink(m_beside.c_str());
}

Result<std::unique_ptr<PartialFile>> PartialFile::create(fs::path target) {
  if (target.has_parent_path()) TRY(make_directories(target.parent_path()));
  const auto folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  fs::path beside;
  Fd fd(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  if (!fd) {
    beside = name_beside(target);
    fd = Fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  }
  if (!fd) return file_error("write", target, errno);
  return std::unique_ptr<PartialFile>(new PartialFile(std::move(target), std::move(beside), std::move(fd)));
}

Result<void> PartialFile::outcome(int error) const {
  if (error != 0) return file_error("write", m_target, error);
  return {};
}

Result<void> PartialFile::write(std::int64_t first, std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pwrite(m_fd.get(), bytes.data(), bytes.size(), first);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return outcome(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    first += count;
  }
  return {};
}

// Not synced: files lost in a crash of the machine are fetched again.
Result<void> PartialFile::finish() {
  if (m_beside.empty()) {
    const int error = give_name(m_fd.get(), m_target);
    m_finished = error == 0;
    if (m_finished) return {};
    if (error != EEXIST) return outcome(error);
    auto beside = name_beside(m_target);  // linkat(2) does not replace an existing file
    TRY(outcome(give_name(m_fd.get(), beside)));
    m_beside = std::move(beside);
  }
  m_fd.close();
  if (::rename(m_beside.c_str(), m_target.c_str()) != 0) return file_error("write", m_target, errno);
  m_finished = true;
  return {};
}

}  // namespace trainstep::objectstore
