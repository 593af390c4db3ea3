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
#include <map>
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

// Copies what a link leads to, and what the links in it lead to if it vanishes. A folder is copied once: further links to it, and links into what is
// copied or into the output, become relative; so a circle of links stays one.
class Copy {
 public:
  struct Place {
    fs::path written, later;  // where it is copied to, and where that will be
  };

  // `tree`: the output, without links.
  Copy(fs::path tree, const IsTemporary& vanishes, const CheckCancelled& go_on) : m_tree(std::move(tree)), m_vanishes(vanishes), m_go_on(go_on) {}

  // `from` is without links.
  Result<void> copy(const fs::path& from, const Place& to) {
    struct stat found{};
    if (::lstat(from.c_str(), &found) != 0) return file_error("copy", from, errno);
    if (S_ISLNK(found.st_mode)) return copy_link(from, to);
    if (S_ISREG(found.st_mode)) return copy_file(from, to.written);
    if (S_ISDIR(found.st_mode)) return copy_folder(from, to);
    const bool made = S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode);
    return !made || ::mknod(to.written.c_str(), found.st_mode, 0) == 0 ? Result<void>() : file_error("copy", from, errno);
  }

  // The same; links to it become links to the copy.
  Result<void> copy_target(const fs::path& from, const Place& to) {
    if (lies_in(m_tree, from) || is_synthetic(from))
      return input_error(fmt::format("{} is a symbolic link to {}, which is not part of the output; write the files themselves there",
                                     to.later.string(), from.string()));
    m_copied.emplace(from, to.later);
    return copy(from, to);
  }

 private:
  Result<void> copy_folder(const fs::path& from, const Place& to) {
    std::error_code code;
    fs::create_directory(to.written, from, code);
    if (!code) fs::permissions(to.written, fs::perms::owner_all, fs::perm_options::add, code);  // also if the original is read-only
    for (auto entry = fs::directory_iterator(from, code); !code && entry != fs::directory_iterator(); entry.increment(code))
      TRY(copy(entry->path(), {to.written / entry->path().filename(), to.later / entry->path().filename()}));
    if (code) return file_error("copy", from, code.value());
    return {};
  }

  Result<void> copy_link(const fs::path& from, const Place& to) {
    std::error_code code;
    auto leads_to = fs::read_symlink(from, code);
    if (code) return file_error("copy", from, code.value());
    const auto target = fs::weakly_canonical(from.parent_path() / leads_to, code);
    const bool circular = static_cast<bool>(code);
    const bool exists = !circular && fs::exists(target, code);
    if (const auto within = circular ? fs::path() : final_place(target); !within.empty())
      leads_to = within.lexically_relative(to.later.parent_path());
    else if (exists && m_vanishes && m_vanishes(target))
      return copy_target(target, to);
    else if (exists)
      leads_to = target;
    code.clear();
    fs::create_symlink(leads_to, to.written, code);
    if (code) return file_error("copy", from, code.value());
    return {};
  }

  // Empty: it is neither in the output nor copied.
  [[nodiscard]] fs::path final_place(const fs::path& target) const {
    for (auto above = target; above.has_relative_path(); above = above.parent_path())
      if (const auto copied = m_copied.find(above); copied != m_copied.end() && (above != target || fs::is_directory(target)))
        return above == target ? copied->second : copied->second / target.lexically_relative(above);
    return lies_in(target, m_tree) ? target : fs::path();
  }

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

  fs::path m_tree;
  const IsTemporary& m_vanishes;
  const CheckCancelled& m_go_on;
  std::map<fs::path, fs::path> m_copied;  // what links led to, and the final place of its copy
};

// `tree`: the output that the link is in, or is.
Result<void> replace(const fs::path& link, const fs::path& tree, const IsTemporary& vanishes, const CheckCancelled& go_on) {
  std::error_code code;
  const auto at = fs::canonical(link.parent_path(), code) / link.filename();
  const auto from = code ? fs::path() : fs::canonical(link, code);
  if (code) return file_error("read", link, code.value());
  const fs::path beside = at.string() + ".trainstep";
  auto copied = Copy(tree, vanishes, go_on).copy_target(from, {beside, at});
  if (copied) fs::remove(at, code);  // rename(2) cannot replace a link by a folder
  if (copied && !code) fs::rename(beside, at, code);
  if (!copied) static_cast<void>(remove_tree(beside));  // if it remains, the next run reports it as in its way
  if (!copied) return copied;
  if (code) return file_error("write", at, code.value());
  return {};
}

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
      TRY(replace(link, root, vanishes, go_on));
    else if (fs::exists(to, code) && fs::read_symlink(link, code).is_relative())
      lead_to(link, to);
  }
  return {};
}

Result<void> replace_by_copy(const fs::path& link, const IsTemporary& vanishes, const CheckCancelled& go_on) {
  std::error_code code;
  const auto at = fs::canonical(link.parent_path(), code) / link.filename();
  return replace(link, at, vanishes, go_on);
}

}  // namespace trainstep
