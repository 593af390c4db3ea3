// SPDX-License-Identifier: Apache-2.0
#include "step/file_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/files.h"

namespace trainstep::step {
namespace {

Error cannot_write(const std::string& path, int code) {
  const auto kind = code == EACCES || code == EPERM || code == EROFS ? ErrorKind::denied : ErrorKind::internal;
  return {kind, fmt::format("cannot write {}: {}", path, std::strerror(code))};
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
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return Target::file;
  return S_ISDIR(status.st_mode) ? Target::folder : Target::stream;
}

Result<void> write_stream(const FileContent& file) {
  const Fd fd(::open(file.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return cannot_write(file.path, errno);
  return write_all(fd.get(), file.path, file.content);
}

// The new contents beside their targets; those that were not renamed are removed.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() {
    for (const auto& [temporary, path] : m_files) ::unlink(temporary.c_str());
  }

  Result<void> write(const FileContent& file) {
    const std::filesystem::path path(file.path);
    if (path.has_parent_path()) TRY(make_directories(path.parent_path()));
    auto temporary = fmt::format("{}.{}.tmp", file.path, ::getpid());
    const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd) return cannot_write(file.path, errno);
    m_files.emplace_back(std::move(temporary), file.path);
    TRY(write_all(fd.get(), file.path, file.content));
    if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) return cannot_write(file.path, errno);
    return {};
  }

  Result<void> rename() {
    for (const auto& [temporary, path] : m_files)
      if (::rename(temporary.c_str(), path.c_str()) != 0) return cannot_write(path, errno);
    m_files.clear();
    return {};
  }

 private:
  std::vector<std::pair<std::string, std::string>> m_files;
};

}  // namespace

Result<void> write_together(const std::vector<FileContent>& files, const std::function<Result<void>()>& before_renaming) {
  std::vector<const FileContent*> last;
  for (const auto& file : files) {
    std::erase_if(last, [&](const FileContent* other) { return other->path == file.path; });
    last.push_back(&file);
  }
  Pending pending;
  std::vector<const FileContent*> streams;
  for (const auto* file : last) {
    switch (target_of(file->path)) {
      case Target::folder:
        return input_error(fmt::format("{}: is a folder, a file is to be written there; give another path", file->path));
      case Target::stream:
        streams.push_back(file);
        break;
      case Target::file:
        TRY(pending.write(*file));
        break;
    }
  }
  if (before_renaming) TRY(before_renaming());
  for (const auto* file : streams) TRY(write_stream(*file));
  return pending.rename();
}

}  // namespace trainstep::step
