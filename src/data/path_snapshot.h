// Tells what a program has written to a path from what lay there before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/output_links.h"

namespace trainstep {

// What a path holds at one moment: a file, or a folder with all that is below it. Files are known by name, inode, size and times, not by content, and
// their number does not matter. Links inside are not followed, unless they lead to
// what vanishes and so will be copied; a link at the path itself is, unless it leads to a folder in which it lies.
class PathSnapshot {
 public:
  // Looks now. `settled`: when something there was changed a moment ago, so that a further change could have the same time, that moment is waited for
  // first. `without`: an entry of the folder that does not count.
  explicit PathSnapshot(const std::filesystem::path& path, bool settled = true, std::string without = {}, Vanishes vanishes = {});

  [[nodiscard]] bool was_there() const { return m_there; }
  // Now at least one regular file that is not empty is there that was not there before, or not like this; or a link to one. Where the path itself is
  // a link, and of files that a link leads to, only what is not older than this: it may lead to anything.
  [[nodiscard]] bool written() const;
  // Whether a file below the path, "/train/log" as walk_tree() tells it, is one of those.
  [[nodiscard]] bool wrote(const std::string& name, const struct stat& found) const;
  // The same as written(), where an empty file is something, too.
  [[nodiscard]] bool touched() const;
  // Error (input): something is there that cannot be looked into, which was not so before: it is not known what was written.
  [[nodiscard]] Result<void> check_seen() const;
  // Now exactly the same is there: nothing came, went or was changed.
  [[nodiscard]] bool unchanged() const;
  // A name for exactly this content at exactly this place; of two moments it differs when unchanged() would be false.
  [[nodiscard]] std::string digest() const;

 private:
  std::filesystem::path m_path;
  std::string m_without;
  Vanishes m_vanishes;
  timespec m_taken{};
  bool m_there = false;
  int m_unseen = 0;
  std::vector<std::uint64_t> m_files;   // sorted: a number for each regular file that is not empty
  std::vector<std::uint64_t> m_rest;    // the same for whatever else is there
  std::vector<std::uint64_t> m_linked;  // the same for such files that links lead to
};

// At least one regular file that is not empty lies at the path, or below it.
bool holds_files(const std::filesystem::path& path);

// The same, where what cannot be looked into counts, too.
bool may_hold_files(const std::filesystem::path& path);

}  // namespace trainstep
