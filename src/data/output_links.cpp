// SPDX-License-Identifier: Apache-2.0
#include "data/output_links.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/remove_tree.h"
#include "base/walk_tree.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> links_in(const fs::path& root) {
  std::vector<fs::path> links;
  walk_tree(root, [&](const std::string& path, const struct stat& found) {
    if (S_ISLNK(found.st_mode)) links.emplace_back(root.string() + path);
    return Walk::on;
  });
  return links;
}

void lead_to(const fs::path& link, const fs::path& target) {
  std::error_code code;
  if (fs::read_symlink(link, code) == target) return;
  const fs::path beside = link.string() + ".trainstep";
  fs::create_symlink(target, beside, code);
  if (!code) fs::rename(beside, link, code);
}

class Copy {
 public:
  Copy(fs::path root, const CheckCancelled& go_on) : m_root(std::move(root)), m_go_on(go_on) {}

  Result<void> copy(const fs::path& from, const fs::path& to) {
    std::error_code code;
    const auto kind = fs::status(from, code).type();
    if (kind == fs::file_type::regular) {
      TRY(copy_file(from, to));
    } else if (kind == fs::file_type::directory && fs::is_symlink(from)) {
      const auto target = fs::canonical(from, code);
      if (!code && lies_in(target, m_root)) fs::create_symlink(target.lexically_relative(from.parent_path()), to, code);
    } else if (kind == fs::file_type::directory) {
      fs::create_directory(to, from, code);
      if (!code) fs::permissions(to, fs::perms::owner_all, fs::perm_options::add, code);  // also if the original is read-only
      for (auto entry = fs::directory_iterator(from, code); !code && entry != fs::directory_iterator(); entry.increment(code))
        TRY(copy(entry->path(), to / entry->path().filename()));
    } else {
      code.clear();
    }
    if (code) return file_error("copy", from, code.value());
    return {};
  }

 private:
  [[nodiscard]] Result<void> copy_file(const fs::path& from, const fs::path& to) const {
    constexpr std::size_t at_once = std::size_t{256} << 20U;
    const Fd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat found{};
    if (!in || ::fstat(in.get(), &found) != 0) return file_error("copy", from, errno);
    const Fd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!out) return file_error("copy", from, errno);
    while (true) {
      const auto count = ::sendfile(out.get(), in.get(), nullptr, at_once);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return file_error("copy", from, errno);
      if (count == 0) break;
      if (m_go_on) TRY(m_go_on());
    }
    return ::fchmod(out.get(), found.st_mode & 07777U) == 0 ? Result<void>() : file_error("copy", from, errno);
  }

  fs::path m_root;
  const CheckCancelled& m_go_on;
};

}  // namespace

bool is_synthetic(const fs::path& path) {
  struct statfs system{};
  return ::statfs(path.c_str(), &system) == 0 && (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
}

bool leads_to_vanishing(const fs::path& tree, const IsTemporary& vanishes) {
  std::error_code code;
  auto links = fs::is_symlink(tree, code) ? std::vector<fs::path>{tree} : links_in(tree);
  return std::ranges::any_of(links, [&](const fs::path& link) {
    const auto to = fs::canonical(link, code);
    return !code && vanishes(to);
  });
}

Result<void> resolve_links(const fs::path& tree, const IsTemporary& vanishes, const CheckCancelled& go_on) {
  std::error_code code;
  const auto root = fs::canonical(tree, code);
  if (code || fs::is_symlink(tree, code) || !fs::is_directory(root, code)) return {};
  for (const auto& link : links_in(root)) {
    const auto to = fs::weakly_canonical(link.parent_path() / fs::read_symlink(link, code), code);
    if (code) continue;  // a cycle of links
    if (lies_in(to, root))
      lead_to(link, to.lexically_relative(link.parent_path()));
    else if (fs::exists(to, code) && vanishes && vanishes(to))
      TRY(replace_by_copy(link, go_on));
    else if (fs::exists(to, code) && fs::read_symlink(link, code).is_relative())
      lead_to(link, to);
  }
  return {};
}

Result<void> replace_by_copy(const fs::path& link, const CheckCancelled& go_on) {
  std::error_code code;
  const auto at = fs::canonical(link.parent_path(), code) / link.filename();
  const auto from = code ? fs::path() : fs::canonical(link, code);
  if (code) return file_error("read", link, code.value());
  if (lies_in(at, from) || is_synthetic(from))
    return input_error(
        fmt::format("{} is a symbolic link to {}, which is not part of the output; write the files themselves there", link.string(), from.string()));
  const fs::path beside = at.string() + ".trainstep";
  auto copied = Copy(from, go_on).copy(from, beside);
  if (copied) fs::remove(at, code);  // rename(2) cannot replace a link by a folder
  if (copied && !code) fs::rename(beside, at, code);
  if (!copied) static_cast<void>(remove_tree(beside));  // if it remains, the next run reports it as in its way
  if (!copied) return copied;
  if (code) return file_error("write", at, code.value());
  return {};
}

}  // namespace trainstep
