// SPDX-License-Identifier: Apache-2.0
#include "data/path_snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/walk_tree.h"
#include "data/birth_time.h"
#include "data/changed_since.h"
#include "data/digest.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

// FNV-1a, followed by the finalizer of MurmurHash3.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  hash = (hash ^ (hash >> 33U)) * 0xFF51AFD7ED558CCDU;
  hash = (hash ^ (hash >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return hash ^ (hash >> 33U);
}

// For a folder only the name: its times change with a move, and its contents are counted separately.
std::string state_of(const std::string& name, const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return name + " folder";
  return fmt::format("{} {} {:o} {} {}.{} {}.{}", name, found.st_ino, found.st_mode & S_IFMT, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec, found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

// The same whatever happens to the entry, except that it is written or replaced; of a file also under another name.
std::string content_of(const std::string& name, const fs::path& path, const struct stat& found, bool rewritten) {
  if (S_ISDIR(found.st_mode)) return name + " folder";
  const auto born = birth_time(path, found).value_or(timespec{});
  return fmt::format("{} {} {:o} {} {}.{} {}.{}{}", S_ISREG(found.st_mode) ? std::string() : name, found.st_ino, found.st_mode & S_IFMT,
                     found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec, born.tv_sec, born.tv_nsec, rewritten ? " rewritten" : "");
}

struct Look {
  bool there = false, link = false;
  PathSnapshot::Entries files, rest;
  std::vector<std::uint64_t> linked;  // contents
  timespec newest{};                  // the latest ctime of any file
  int unseen = 0;                     // an errno: something there cannot be read

  void note(int code) {
    if (code != 0 && code != ENOENT && code != ENOTDIR) unseen = code;
  }

  void sort() {
    for (auto* numbers : {&files.states, &files.contents, &rest.states, &rest.contents, &linked}) std::ranges::sort(*numbers);
    for (auto* numbers : {&files.contents, &rest.contents, &linked})  // several names of one file
      numbers->erase(std::ranges::unique(*numbers).begin(), numbers->end());
  }
};

// A dangling link, or a link to a folder that contains it.
bool leads_nowhere(const fs::path& path) {
  std::error_code code;
  const auto to = fs::canonical(path, code);
  const auto at = fs::canonical(path.parent_path(), code);
  return lies_in(at, to);
}

class Looker {
 public:
  // `begins`: watches the files from now on; otherwise asks `watch` about them.
  Looker(std::string without, IsTemporary vanishes, timespec since, WriteWatch& watch, bool begins)
      : m_without(std::move(without)), m_vanishes(std::move(vanishes)), m_since(since), m_watch(watch), m_begins(begins) {}

  Look look(const fs::path& path) {
    struct stat found{};
    const bool there = ::lstat(path.c_str(), &found) == 0;
    m_look.note(there ? 0 : errno);
    m_look.link = there && S_ISLNK(found.st_mode);
    if (m_look.link && leads_nowhere(path)) {
      m_look.there = true;
      add("", path, found);
    } else if (::stat(path.c_str(), &found) == 0) {
      m_look.there = true;
      add("", path, found);
      add_below(path);
      for (std::size_t i = 0; i < m_linked.size(); ++i) add_linked(fs::path(m_linked[i]));
    }
    m_look.sort();
    return std::move(m_look);
  }

 private:
  bool was_rewritten(const struct stat& found) { return !m_begins && S_ISREG(found.st_mode) && m_watch.saw_write(found); }
  bool is_new(const fs::path& path, const struct stat& found) { return was_rewritten(found) || m_since(path, found); }
  bool is_new_file(const fs::path& path, const struct stat& found) { return S_ISREG(found.st_mode) && found.st_size > 0 && is_new(path, found); }

  std::uint64_t content_number(const std::string& name, const fs::path& path, const struct stat& found) {
    if (m_begins && S_ISREG(found.st_mode)) m_watch.add(path, found);
    return number_of(content_of(name, path, found, was_rewritten(found)));
  }

  void add_to(PathSnapshot::Entries& entries, const std::string& name, const fs::path& path, const struct stat& found) {
    entries.states.push_back(number_of(state_of(name, found)));
    entries.contents.push_back(content_number(name, path, found));
  }

  // Older files are not counted as files if the output itself is a link.
  void add(const std::string& name, const fs::path& path, const struct stat& found) {
    const bool file = S_ISREG(found.st_mode) && found.st_size > 0 && (!m_look.link || is_new(path, found));
    add_to(file ? m_look.files : m_look.rest, name, path, found);
    const auto& at = found.st_ctim;
    if (!S_ISDIR(found.st_mode) && std::pair(at.tv_sec, at.tv_nsec) > std::pair(m_look.newest.tv_sec, m_look.newest.tv_nsec)) m_look.newest = at;
  }

  void add_below(const fs::path& root) {
    const int code = walk_tree(root, [&](const std::string& name, const struct stat& found) {
      if (!m_without.empty() && name == '/' + m_without) return Walk::past;
      const fs::path path = root.string() + name;
      add(name, path, found);
      if (S_ISLNK(found.st_mode)) {
        struct stat target{};
        if (::stat(path.c_str(), &target) == 0 && is_new_file(path, target)) m_look.linked.push_back(content_number(name, path, target));
        note_link(path);
      }
      return Walk::on;
    });
    m_look.note(code);
  }

  // These are not files of the output, but will be part of it.
  void add_linked(const fs::path& target) {
    struct stat found{};
    if (::lstat(target.c_str(), &found) == 0) add_to(m_look.rest, target.string(), target, found);
    if (!S_ISDIR(found.st_mode)) return;
    walk_tree(target, [&](const std::string& name, const struct stat& entry) {
      const fs::path path = target.string() + name;
      add_to(m_look.rest, path.string(), path, entry);
      if (is_new_file(path, entry)) m_look.linked.push_back(m_look.rest.contents.back());
      if (S_ISLNK(entry.st_mode)) note_link(path);
      return Walk::on;
    });
  }

  void note_link(const fs::path& link) {
    if (!m_vanishes) return;
    std::error_code code;
    const auto target = fs::canonical(link, code);
    if (!code && !is_synthetic(target) && m_vanishes(target) && m_seen.insert(target.string()).second) m_linked.push_back(target.string());
  }

  std::string m_without;
  IsTemporary m_vanishes;
  ChangedSince m_since;
  WriteWatch& m_watch;
  bool m_begins;
  Look m_look;
  std::set<std::string> m_seen;
  std::vector<std::string> m_linked;  // targets still to be inspected
};

Look look(const fs::path& path, const std::string& without, const IsTemporary& vanishes, WriteWatch& watch, timespec since = {}) {
  return Looker(without, vanishes, since, watch, false).look(path);
}

// Sleeps until a change gets a later timestamp than `newest`; false if it does already. Timestamps have the resolution of the kernel's ticks, which
// come late on a busy machine, on some file systems of 10 ms or of seconds. A timestamp well ahead is from another clock, which is not waited for.
bool wait_past(const timespec& newest) {
  using namespace std::chrono_literals;
  const auto time = [](const timespec& at) { return std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec); };
  const auto resolution = newest.tv_nsec == 0 ? 2'000ms : 10ms;
  for (bool waited = false;; waited = true) {
    const auto left = time(newest) + resolution - time(ChangedSince::now());
    if (left < 0ms || left > resolution + 100ms) return waited;
    std::this_thread::sleep_for(left + 1ms);
  }
}

// Both must be sorted.
bool any_new(const std::vector<std::uint64_t>& now, const std::vector<std::uint64_t>& before) {
  return !std::includes(before.begin(), before.end(), now.begin(), now.end());
}

}  // namespace

PathSnapshot::PathSnapshot(const fs::path& path, bool settled, std::string without, IsTemporary vanishes)
    : m_path(path), m_without(std::move(without)), m_vanishes(std::move(vanishes)), m_taken(ChangedSince::now()) {
  const auto take = [this, settled] {
    *m_watch = {};
    return Looker(m_without, m_vanishes, {}, *m_watch, settled).look(m_path);
  };
  auto now = take();
  if (now.there && settled && wait_past(now.newest)) now = take();
  m_there = now.there;
  m_unseen = now.unseen;
  m_files = std::move(now.files);
  m_rest = std::move(now.rest);
  m_linked = std::move(now.linked);
}

bool PathSnapshot::written() const {
  const auto now = look(m_path, m_without, m_vanishes, *m_watch, m_taken);
  return any_new(now.files.contents, m_files.contents) || any_new(now.linked, m_linked);
}

bool PathSnapshot::wrote(const std::string& name, const struct stat& found) const {
  const fs::path path = m_path.string() + name;
  const bool rewritten = m_watch->saw_write(found);
  if (std::ranges::binary_search(m_files.contents, number_of(content_of(name, path, found, rewritten)))) return false;
  std::error_code ignored;
  return rewritten || !fs::is_symlink(m_path, ignored) || ChangedSince(m_taken)(path, found);
}

bool PathSnapshot::touched() const {
  const auto now = look(m_path, m_without, m_vanishes, *m_watch);
  return any_new(now.files.contents, m_files.contents) || any_new(now.rest.contents, m_rest.contents);
}

Result<void> PathSnapshot::check_seen() const {
  const auto now = look(m_path, m_without, m_vanishes, *m_watch);
  if (now.unseen == 0 || m_unseen != 0) return {};
  return input_error(fmt::format("cannot read {}: {}; the program must leave its output files readable", m_path.string(), std::strerror(now.unseen)));
}

Result<void> PathSnapshot::check_readable() const {
  std::string hidden;
  const auto see = [&](const std::string& name, const struct stat& found) {
    const auto path = m_path.string() + name;
    const bool counts = S_ISDIR(found.st_mode) ? m_unseen == 0 : S_ISREG(found.st_mode) && wrote(name, found);
    if (!counts || ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0 || errno != EACCES) return Walk::on;
    hidden = path;
    return Walk::stop;
  };
  struct stat found{};
  if (::stat(m_path.c_str(), &found) == 0 && see("", found) == Walk::on && S_ISDIR(found.st_mode)) walk_tree(m_path, see);
  if (hidden.empty()) return {};
  return input_error(fmt::format("cannot read {}: {}; the program must leave its output files readable", hidden, std::strerror(EACCES)));
}

bool PathSnapshot::unchanged() const {
  const auto now = look(m_path, m_without, m_vanishes, *m_watch);
  return now.there == m_there && now.files.states == m_files.states && now.rest.states == m_rest.states;
}

namespace {

bool holds_files(const fs::path& path, bool unseen) {
  std::error_code code;
  if (fs::is_regular_file(path, code)) return fs::file_size(path, code) > 0 && !code;
  if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory) return unseen;
  bool holds = false;
  const int hidden = walk_tree(path, [&](const std::string&, const struct stat& found) {
    holds = S_ISREG(found.st_mode) && found.st_size > 0;
    return holds ? Walk::stop : Walk::on;
  });
  return holds || (unseen && hidden != 0 && hidden != ENOENT && hidden != ENOTDIR);
}

}  // namespace

bool holds_files(const fs::path& path) { return holds_files(path, false); }

bool may_hold_files(const fs::path& path) { return holds_files(path, true); }

std::string PathSnapshot::digest() const {
  std::string all;
  for (const auto* numbers : {&m_files.states, &m_rest.states})
    for (const auto number : *numbers) all += fmt::format("{:016x}\n", number);
  return sha256_hex(all);
}

}  // namespace trainstep
