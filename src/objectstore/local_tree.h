// Files on this machine, as trees to transfer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "objectstore/sync.h"

namespace trainstep::objectstore {

// The contents of a path on this machine.
struct LocalTree {
  std::vector<LocalFile> files;                 // sorted by path
  std::vector<std::string> empty_folders;       // below the root, without a file in them that is transferred
  std::vector<std::string> left_out;            // what cannot be transferred, and why: "step-1/pipe: a FIFO"
  std::map<std::string, std::string> links;     // with Links::kept: link targets by path, relative to the link's folder: "step-1"
  std::map<std::string, std::int64_t> folders;  // all others below the root, by path: their modification times, in nanoseconds
};

// How to treat a link to a file or a folder of the tree.
enum class Links {
  followed,  // its target gets a second path
  kept,      // it remains a link, if it stays within the tree: LocalTree::links
};

// All files at `root`: itself (path ""), or everything below it. Links are followed, as s5cmd and the AWS CLI do: to files anywhere, to folders
// within the tree. Dangling links, links to folders outside the tree, loops, and what is neither file nor folder, are left out. Errors: not_found;
// input, for a root that cannot be transferred; denied.
Result<LocalTree> read_tree(const std::filesystem::path& root, Links links = Links::followed);
// Whether a relative path leads out of its folder lexically.
bool leads_out(const std::filesystem::path& path);
// "skipped: step-1/pipe: a FIFO; …", the first of them, or "".
std::string describe_left_out(const std::vector<std::string>& left_out);

// The state of one file. Errors as above.
Result<LocalFile> read_state(const std::filesystem::path& root, const std::string& path);

// Exactly `size` bytes from offset `first`. Error: input, if the file is shorter; denied.
Result<std::string> read_part(const std::filesystem::path& file, std::int64_t first, std::int64_t size);

// A file that appears at its path only when it is complete: it has no name until then, so that a killed process leaves nothing behind. Where the file
// system does not support that, it is written next to its path under another name, which is removed on destruction.
class PartialFile {
 public:
  // Creates parent folders. Errors: denied, input (the path is a folder), internal (no space).
  static Result<std::unique_ptr<PartialFile>> create(std::filesystem::path target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();
  // Callable from any thread. Errors: internal (no space).
  Result<void> write(std::int64_t first, std::string_view bytes) const;
  // Call it after all writes have finished.
  Result<void> finish();

 private:
  PartialFile(std::filesystem::path target, std::filesystem::path beside, Fd fd);
  [[nodiscard]] Result<void> outcome(int error) const;
  std::filesystem::path m_target, m_beside;  // m_beside: empty as long as the file needs no name
  Fd m_fd;
  bool m_finished = false;
};

}  // namespace trainstep::objectstore
