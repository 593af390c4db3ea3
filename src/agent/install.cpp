// SPDX-License-Identifier: Apache-2.0
#include "agent/install.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/files.h"
#include "base/regular_file.h"

namespace trainstep::agent {
namespace {

namespace fs = std::filesystem;

// rename(2) and unlink(2) would replace a device, a FIFO or a link, too.
Result<void> check_replaceable(const fs::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return errno == ENOENT ? Result<void>() : file_error("write", path, errno);
  if (S_ISREG(found.st_mode)) return {};
  return input_error(fmt::format("--install: {} exists and is not a regular file; choose another path", path.string()));
}

int copy_own_file(const fs::path& to) {
  constexpr std::size_t at_once = std::size_t{1} << 30U;
  const Fd in(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!in) return errno;
  const Fd out(create_new_file(to));
  if (!out) return errno;
  ssize_t count = 0;
  do count = ::sendfile(out.get(), in.get(), nullptr, at_once);
  while (count > 0 || (count < 0 && errno == EINTR));
  return count < 0 || ::fchmod(out.get(), 0755) != 0 ? errno : 0;
}

}  // namespace

Result<void> install(const fs::path& target) {
  if (!target.has_filename()) return input_error(fmt::format("--install: {} is a folder, expected the path of a file", target.string()));
  if (target.has_parent_path()) TRY(make_directories(target.parent_path()));
  const fs::path beside = target.string() + ".part";
  TRY(check_replaceable(target));
  TRY(check_replaceable(beside));
  auto code = copy_own_file(beside);
  if (code == 0 && ::rename(beside.c_str(), target.c_str()) != 0) code = errno;
  if (code == 0) return {};
  ::unlink(beside.c_str());
  return file_error("write", target, code);
}

}  // namespace trainstep::agent
