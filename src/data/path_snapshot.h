// Distinguishes what a program has written to a path from what was there before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/output_links.h"
#include "data/write_watch.h"

namespace trainstep {

// The contents of a path at one moment: a file, or a folder with everything below it. Files are identified by inode, size and times, not by
// content; their number is not limited. A file of which only the status change time differs has been written to if a WriteWatch saw that, otherwise
// only its metadata was changed (docs/adr/0018-outputs-appear-whole.md). Links inside are not followed, unless they lead to something that vanishes
// and so will be copied; a link at the path itself is followed, unless it leads to a folder that contains it.
class PathSnapshot {
 public:
  // Takes the snapshot now. `settled`: if something there changed so recently that a further change could have the same timestamp, waits until that
  // is impossible and takes it again. `without`: an entry of the folder to ignore.
  explicit PathSnapshot(const std::filesystem::path& path, bool settled = true, std::string without = {}, IsTemporary vanishes = {});

  [[nodiscard]] bool was_there() const { return m_there; }
  // Whether there is now at least one non-empty regular file that was not there before under any name, or is different; or a link to one. If the path
  // itself is a link, and for files that a link leads to, only files changed since the snapshot count: a link may lead to anything.
  [[nodiscard]] bool written() const;
  // Whether a file below the path, named as by walk_tree(), "/train/log", is one of those.
  [[nodiscard]] bool wrote(const std::string& name, const struct stat& found) const;
  // The same as written(), but empty files and other entries count as well.
  [[nodiscard]] bool touched() const;
  // Error (input): something there cannot be read that could be read before, so it is unknown what was written.
  [[nodiscard]] Result<void> check_seen() const;
  // Error (input): a file that written() counts, or a folder, cannot be read by this user.
  [[nodiscard]] Result<void> check_readable() const;
  // Whether the contents are the same now: nothing was added, removed or changed, not even metadata of files.
  [[nodiscard]] bool unchanged() const;
  // Identifies exactly these contents at exactly this place; two snapshots have different digests if unchanged() would be false between them.
  [[nodiscard]] std::string digest() const;

  struct Entries {                                // sorted: hashes for each entry
    std::vector<std::uint64_t> states, contents;  // a state includes ctime
  };

 private:
  std::filesystem::path m_path;
  std::string m_without;
  IsTemporary m_vanishes;
  timespec m_taken{};
  bool m_there = false;
  int m_unseen = 0;
  Entries m_files;                                                       // non-empty regular files
  Entries m_rest;                                                        // all other entries
  std::vector<std::uint64_t> m_linked;                                   // the contents of non-empty regular files that links lead to
  std::unique_ptr<WriteWatch> m_watch = std::make_unique<WriteWatch>();  // for the files that were there, if settled
};

// Whether there is at least one non-empty regular file at the path or below it.
bool holds_files(const std::filesystem::path& path);

// The same, but what cannot be read counts as well.
bool may_hold_files(const std::filesystem::path& path);

}  // namespace trainstep
