// SPDX-License-Identifier: Apache-2.0
#include "step/file_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "base/immutable.h"
#include "base/links.h"
#include "base/mount.h"
#include "base/regular_file.h"
#include "base/time.h"
#include "base/walk_tree.h"

namespace trainstep::step {
namespace {

constexpr Duration reader_timeout{10'000}, poll_interval{20};

Error cannot_write(const std::string& path, int code) {
  const auto kind = code == EACCES || code == EPERM || code == EROFS ? ErrorKind::denied : ErrorKind::internal;
  return {kind, fmt::format("cannot write {}: {}", path, std::strerror(code))};
}

// The existing part of the path was checked when the step started: a change since then was not made by the program.
Result<void> make_parents(const std::filesystem::path& path) {
  if (!path.has_parent_path()) return {};
  auto made = make_directories(path.parent_path());
  if (!made && made.error().kind == ErrorKind::input) made.error().kind = ErrorKind::conflict;
  return in_context("cannot write " + path.string(), std::move(made));
}

Result<void> write_all(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const auto count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_write(path, errno);
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

enum class Target { file, stream, folder };

Target target_of(const std::string& path) {
  struct stat status{};
  if (named_descriptor(path)) return Target::stream;
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return Target::file;
  return S_ISDIR(status.st_mode) ? Target::folder : Target::stream;
}

Error no_reader(const std::string& path) { return {ErrorKind::internal, fmt::format("cannot write {}: it has no reader", path)}; }

bool is_fifo(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// A reader may open it a moment later; a pipe without a reader, which the program itself may have created, must not block the step.
Result<void> write_stream(const FileContent& file) {
  const auto until = std::chrono::steady_clock::now() + reader_timeout;
  // Opening the file behind it again would give another position (the start) and other flags.
  const auto open = named_descriptor(file.path);
  Fd fd(open ? ::fcntl(*open, F_DUPFD_CLOEXEC, 3) : ::open(file.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  while (!fd && errno == ENXIO && is_fifo(file.path) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(poll_interval);
    fd = Fd(::open(file.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  if (!fd) return errno == ENXIO && is_fifo(file.path) ? no_reader(file.path) : cannot_write(file.path, errno);
  for (std::string_view rest = file.content; !rest.empty();) {
    pollfd entry{fd.get(), POLLOUT, 0};
    if (::poll(&entry, 1, static_cast<int>(reader_timeout.count())) == 0) return no_reader(file.path);
    const auto count = ::write(fd.get(), rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));  // this much can be written without blocking
    if (count >= 0)
      rest.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EAGAIN && errno != EINTR)
      return cannot_write(file.path, errno);
  }
  return {};
}

constexpr std::string_view ending = ".tstep";  // of NAME.PID.tstep, until it is renamed to NAME

// Locked while it is written. A process that cleans up files of killed runs may lock it first.
Fd create_locked(const std::string& path) {
  struct stat made{};
  while (true) {
    Fd fd(create_new_file(path));
    if (!fd || ::fstat(fd.get(), &made) != 0) return fd;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    if (::fstat(fd.get(), &made) == 0 && made.st_nlink > 0) return fd;
  }
}

bool is_unfinished(std::string_view name, std::string_view target) {
  if (!name.starts_with(target) || !name.ends_with(ending) || name.size() < target.size() + ending.size() + 2) return false;
  const auto pid = name.substr(target.size() + 1, name.size() - target.size() - ending.size() - 1);
  return name[target.size()] == '.' && std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; });
}

// Files next to the target that a run left when it was killed between two renames: their locks are free.
void remove_left(const std::filesystem::path& target) {
  const auto name = target.filename().string();
  const Fd folder(::open(target.has_parent_path() ? target.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return;
  each_name(folder.get(), [&](const char* entry) {
    if (!is_unfinished(entry, name)) return true;
    const Fd left(::openat(folder.get(), entry, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (left && ::flock(left.get(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(folder.get(), entry, 0);
    return true;
  });
}

Result<void> sync(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) return cannot_write(path, errno);
  return {};
}

Result<void> write_in_place(const FileContent& file) {
  const Fd fd(::open(file.path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd) return cannot_write(file.path, errno);
  TRY(write_all(fd.get(), file.path, file.content));
  return sync(fd.get(), file.path);
}

// The new contents next to their targets; files that were not renamed are removed.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() {
    for (const auto& file : m_files) ::unlink(file.temporary.c_str());
  }

  Result<void> write(const FileContent& file) {
    const auto path = followed(file.path);  // the file that a link points to is written, the link stays
    if (is_mount(path)) {
      m_mounted.push_back(&file);
      return {};
    }
    TRY(make_parents(path));
    if (is_immutable(path)) return cannot_write(file.path, EPERM);  // before creating a file there that could not be removed
    remove_left(path);
    auto temporary = fmt::format("{}.{}{}", path.string(), ::getpid(), ending);
    auto fd = create_locked(temporary);
    if (!fd) return cannot_write(file.path, errno);
    m_files.push_back({std::move(temporary), path.string(), std::move(fd)});
    const int written = m_files.back().lock.get();
    TRY(write_all(written, file.path, file.content));
    return sync(written, file.path);
  }

  // Problems that can be found before the model is moved to its place.
  [[nodiscard]] Result<void> can_rename() const {
    for (const auto& file : m_files)
      if (is_immutable(file.path)) return cannot_write(file.path, EPERM);
    return {};
  }

  Result<void> rename() {
    for (const auto& file : m_files)
      if (::rename(file.temporary.c_str(), file.path.c_str()) != 0) return cannot_write(file.path, errno);
    m_files.clear();
    for (const auto* file : m_mounted) TRY(write_in_place(*file));
    return {};
  }

 private:
  struct File {
    std::string temporary, path;
    Fd lock;
  };
  std::vector<File> m_files;
  std::vector<const FileContent*> m_mounted;  // mount points cannot be replaced by another file
};

}  // namespace

Result<void> write_together(const std::vector<FileContent>& files, const std::function<Result<void>()>& before_renaming) {
  std::vector<const FileContent*> last;
  for (const auto& file : files) {
    if (target_of(file.path) != Target::stream) std::erase_if(last, [&](const FileContent* other) { return other->path == file.path; });
    last.push_back(&file);
  }
  Pending pending;
  std::vector<const FileContent*> streams;
  for (const auto* file : last) {
    switch (target_of(file->path)) {
      case Target::folder:
        return Error{ErrorKind::conflict, fmt::format("cannot write {}: it is now a folder", file->path)};
      case Target::stream:
        streams.push_back(file);
        break;
      case Target::file:
        TRY(pending.write(*file));
        break;
    }
  }
  for (const auto* file : streams) TRY(write_stream(*file));
  TRY(pending.can_rename());
  if (before_renaming) TRY(before_renaming());
  return pending.rename();
}

}  // namespace trainstep::step
