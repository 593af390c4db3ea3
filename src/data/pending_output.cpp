// SPDX-License-Identifier: Apache-2.0
#include "data/pending_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/links.h"
#include "base/regular_file.h"
#include "base/remove_tree.h"
#include "base/temporary_permissions.h"
#include "data/output_folder.h"
#include "data/output_moves.h"
#include "data/path_snapshot.h"
#include "data/signature.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

// Notes on a committed folder: the digest of its snapshot; for a mounted one also the names of the committed entries, each preceded and followed by
// '/'.
constexpr std::string_view digest_note = "content", entries_note = "entries";
constexpr std::size_t max_owner_length = 4096;

bool is_empty_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code) && fs::is_empty(path, code) && !code;
}

// The first of model.~1~, model.~2~, … that does not exist: the backup names of cp and mv.
fs::path kept_name(const fs::path& path) {
  std::error_code code;
  for (int number = 1;; ++number)
    if (auto name = fs::path(fmt::format("{}.~{}~", path.string(), number)); !fs::exists(fs::symlink_status(name, code))) return name;
}

// `path` itself, if it does not exist.
fs::path free_name(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code)) ? kept_name(path) : path;
}

// The path without a trailing slash; empty: it is not a link.
fs::path link_at(const fs::path& path) {
  std::error_code code;
  auto link = fs::absolute(path, code).lexically_normal();
  if (!link.has_filename()) link = link.parent_path();
  return fs::is_symlink(link, code) ? link : fs::path();
}

// The entry need not exist, its folder must.
bool is_same_place(const fs::path& one, const fs::path& other) {
  std::error_code code;
  const auto above = fs::canonical(one.parent_path(), code);
  return !code && one.filename() == other.filename() && above == fs::canonical(other.parent_path(), code) && !code;
}

// A folder with the temporary name is ours only if a run wrote its owner note before writing anything else there.
Result<void> check_ours(const OutputPaths& place) {
  std::error_code code;
  const auto waiting = place.path.parent_path();
  const auto status = fs::symlink_status(waiting, code);
  if (!fs::exists(status)) return {};
  const bool noted = fs::is_regular_file(fs::symlink_status(place.folder / "owner", code));
  if (fs::is_directory(status) && (noted || is_empty_folder(waiting))) return {};
  return input_error(fmt::format("{} was not created by a run, but this path is required for a temporary output; move it, or choose another path",
                                 waiting.string()));
}

}  // namespace

bool PendingOutput::possible(const fs::path& target) {
  std::error_code code;
  const auto status = fs::status(target, code);
  return !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status);
}

Result<PendingOutput> PendingOutput::open(const fs::path& target, const std::string& owner, const std::string& signer) {
  PendingOutput output;
  output.m_signer = signer;
  output.m_place = OutputPaths::of(target);
  output.m_link = link_at(target);
  ASSIGN(output.m_made, MadeFolders::make(output.m_place.target.parent_path()));
  ASSIGN(std::tie(output.m_held, output.m_lock), lock_folder(output.m_place.folder, output.m_place.target));
  TRY(check_ours(output.m_place));
  ASSIGN(output.m_taken_back, take_back(output.m_place, signer, owner));
  TRY(output.recover(owner));
  return output;
}

// Recovers from earlier runs: restores the target of a run that was killed between two renames, removes what is not this owner's.
Result<void> PendingOutput::recover(const std::string& owner) {
  std::error_code code;
  const auto old = m_place.folder / "old";
  if (!m_place.inside && fs::exists(fs::symlink_status(old, code)) && !fs::exists(fs::symlink_status(m_place.target, code)))
    TRY(move_output(old, m_place.target));
  if (!m_place.inside && !displaced_path(m_place))  // otherwise the outcome of another run is open, which may still revert
    for (const auto& one : displaced_in(m_place.folder)) TRY(empty_place(one, m_place.target));
  const auto note = m_place.folder / "owner";
  const auto before = read_regular_file(note, max_owner_length);
  if (owner.empty() || !before || *before != owner) TRY(empty_place(m_place.path.parent_path(), m_place.target));
  TRY(make_directories(m_place.path.parent_path()));
  return write_file_atomically(note, owner);
}

PendingOutput::~PendingOutput() {
  if (m_held) tidy_folder(m_held, m_place.folder);
  m_made.remove_empty();
}

fs::path PendingOutput::left() const {
  if (was_removed(m_held)) return {};
  std::error_code code;
  for (const auto& folder : {held_place(m_held, m_place.folder), m_place.folder}) {  // the program may have created the latter again
    auto files = folder / "new";
    if (folder.empty() || !may_hold_files(files)) continue;  // then nothing is kept, even if a link there leads to a file
    auto output = files / m_place.path.filename();
    return !fs::is_symlink(output, code) && may_hold_files(output) ? output : files;
  }
  return {};
}

Result<void> PendingOutput::check_kept() const {
  if (was_removed(m_held))
    return Error{ErrorKind::conflict, fmt::format("{} was removed while {} was being written to it; its contents are incomplete",
                                                  m_place.folder.string(), m_place.target.string())};
  if (const auto why = why_hidden(m_place.folder); !why.empty()) return Error{ErrorKind::conflict, why + "; the output is not delivered"};
  const auto now = moved_folder(m_held, m_place.folder);
  std::error_code code;
  const auto waiting = m_place.path.parent_path();
  if (now.empty() && !fs::is_symlink(waiting, code)) return check_link();
  if (now.empty())
    return Error{ErrorKind::conflict, fmt::format("{} was replaced by a symbolic link while {} was being written to it; the output is not delivered",
                                                  waiting.string(), m_place.target.string())};
  return Error{ErrorKind::conflict, fmt::format("the folder of {} was moved to {} while the output was being written; the output is not delivered",
                                                m_place.target.string(), (m_place.inside ? now : now.parent_path()).string())};
}

// The output is put where the link led at the start: whoever uses the link now would find something else.
Result<void> PendingOutput::check_link() const {
  if (m_link.empty() || is_same_place(followed(m_link), m_place.target)) return {};
  return Error{ErrorKind::conflict,
               fmt::format("{} was a symbolic link to {} and was removed or changed while the output was being written; the output is not delivered",
                           m_link.string(), m_place.target.string())};
}

Result<std::optional<fs::path>> PendingOutput::commit(const IsTemporary& vanishes, const CheckCancelled& go_on) {
  TRY(check_kept());
  std::error_code code;
  if (!fs::exists(fs::symlink_status(m_place.path, code))) return std::optional<fs::path>();
  const auto here = fs::canonical(m_place.folder, code);
  const auto older = fs::weakly_canonical(m_place.target, code);
  const IsTemporary goes = [&](const fs::path& path) { return lies_in(path, here) || lies_in(path, older) || (vanishes && vanishes(path)); };
  if (fs::is_symlink(m_place.path, code)) TRY(resolve_link(goes, go_on));
  TRY(resolve_links(m_place.path, goes, go_on));
  if (go_on) TRY(go_on());
  auto aside = m_place.inside ? commit_inside() : m_place.over ? commit_over() : commit_beside();
  if (aside && m_signer.empty()) unsign(m_place);
  if (aside && !m_signer.empty()) TRY(sign(m_place, m_signer, *aside ? *aside : m_replaced));
  return aside;
}

Result<std::optional<fs::path>> PendingOutput::commit_beside() {
  ASSIGN(auto aside, move_aside());
  const bool gone = aside.has_value();
  auto placed = gone ? move_output(m_place.path, m_place.target) : replace();
  if (!placed && gone) TRY(move_output(*aside, m_place.target));
  TRY(std::move(placed));
  remember();
  return aside;
}

// The output is a link. If its target is next to it, that is the output; a target elsewhere may change or disappear, and is copied, with the files
// that links in it lead to.
Result<void> PendingOutput::resolve_link(const IsTemporary& vanishes, const CheckCancelled& go_on) {
  std::error_code code;
  const auto to = fs::canonical(m_place.path, code);
  if (code) return output_error("read", m_place.path, code.value());
  if (to.parent_path() != fs::canonical(m_place.path.parent_path(), code)) {
    const auto goes = [&](const fs::path& path) { return fs::is_regular_file(path) || vanishes(path); };
    return replace_by_copy(m_place.path, goes, go_on);
  }
  fs::remove(m_place.path, code);
  return move_output(to, m_place.path);
}

// Moves aside an unknown folder, and a file that would be replaced by a folder. A file is replaced by a file, as with cp.
Result<std::optional<fs::path>> PendingOutput::move_aside() {
  std::error_code code;
  const bool file = fs::is_regular_file(m_place.target, code);
  if (file && !fs::is_directory(m_place.path, code)) return std::optional<fs::path>();
  if (!file && (!fs::is_directory(m_place.target, code) || is_empty_folder(m_place.target) || known())) return std::optional<fs::path>();
  auto aside = kept_name(m_place.target);
  TRY(move_output(m_place.target, aside));
  return std::optional(std::move(aside));
}

// The target may be replaced. Where the file system can exchange two names, there is always one or the other; otherwise there is a moment with
// neither, and recover() recovers from a kill in it.
Result<void> PendingOutput::replace() {
  struct stat there{};
  if (::lstat(m_place.target.c_str(), &there) != 0) return move_output(m_place.path, m_place.target);
  std::error_code code;
  if (exchange_outputs(m_place.path, m_place.target)) {
    remove_replaced(m_place.path);
    return {};
  }
  const auto old = free_name(m_place.folder / "old");
  TRY(move_output(m_place.target, old));
  if (auto placed = move_output(m_place.path, m_place.target); !placed) {
    TRY(move_output(old, m_place.target));
    return placed;
  }
  remove_replaced(old);
  return {};
}

// What may have to be restored is kept until it is confirmed.
void PendingOutput::remove_replaced(const fs::path& path) {
  if (!m_signer.empty() && !m_place.inside) {
    const bool is_kept = path.parent_path() == m_place.folder;
    const auto old = is_kept ? path : free_name(m_place.folder / "old");
    if (is_kept || move_output(path, old)) m_replaced = old;
    if (m_replaced) return;
  }
  const TemporaryPermissions above(path.parent_path());
  if (const auto removed = remove_tree(path); !removed) m_unremoved = removed.error().message;
}

// Moves entry by entry, because a mounted folder cannot be exchanged. It may be the root of a shared volume: of what the last commit has not put
// there, only entries with the name of a new one are moved aside.
Result<std::optional<fs::path>> PendingOutput::commit_inside() {
  std::error_code code;
  if (!fs::is_directory(m_place.path, code))
    return input_error(
        fmt::format("{} is a mounted folder, but the output is a file; write a folder, or choose a path below it", m_place.target.string()));
  const auto before = entries_of(m_place.target);
  const bool may_go = known();
  const auto aside = may_go ? m_place.folder / "old" : kept_name(m_place.folder / m_place.target.filename());
  const auto earlier = m_place.noted(entries_note);
  std::string later = "/";
  for (const auto& entry : entries_of(m_place.path)) later += entry.filename().string() + '/';
  const auto both = earlier + later;
  TRY(m_place.note(entries_note, both));  // if this run is killed now, entries of either may be there
  const auto replaced = [&](const fs::path& entry) { return may_go || both.find('/' + entry.filename().string() + '/') != std::string::npos; };
  for (const auto& entry : before) {
    if (!replaced(entry)) continue;
    TRY(make_directories(aside));
    TRY(move_output(entry, aside / entry.filename()));
  }
  for (const auto& entry : entries_of(m_place.path)) TRY(move_output(entry, m_place.target / entry.filename()));
  TRY(m_place.note(entries_note, later));
  if (may_go) remove_replaced(aside);
  if (may_go || before.empty())
    remember();
  else
    m_place.forget(digest_note);
  return fs::exists(aside, code) ? std::optional(aside) : std::nullopt;
}

// A mounted file can only be rewritten in place. Until that is done, the complete output is next to it.
Result<std::optional<fs::path>> PendingOutput::commit_over() {
  std::error_code code;
  if (fs::is_directory(m_place.path, code))
    return input_error(fmt::format("{} is a mounted file, but the output is a folder; write a file, or mount a folder", m_place.target.string()));
  const Fd from(::open(m_place.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return output_error("read", m_place.path, errno);
  const Fd to(::open(m_place.target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!to) return output_error("write", m_place.target, errno);
  constexpr std::size_t at_once = std::size_t{1} << 30U;
  ssize_t count = 0;
  do count = ::sendfile(to.get(), from.get(), nullptr, at_once);
  while (count > 0 || (count < 0 && errno == EINTR));
  if (count < 0 || (::fsync(to.get()) != 0 && errno != EINVAL)) return output_error("write", m_place.target, errno);
  fs::remove(m_place.path, code);
  return std::optional<fs::path>();
}

// Whether it holds exactly what the last commit put there.
bool PendingOutput::known() const {
  const auto digest = m_place.noted(digest_note);
  return !digest.empty() && digest == PathSnapshot(m_place.target, false, OutputPaths::inside_name).digest();
}

void PendingOutput::remember() {
  std::error_code code;
  m_place.forget(digest_note);
  if (fs::is_directory(m_place.target, code))
    static_cast<void>(m_place.note(
        digest_note, PathSnapshot(m_place.target, false, OutputPaths::inside_name).digest()));  // without the note the next run keeps the folder
}

}  // namespace trainstep
