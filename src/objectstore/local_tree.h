// Files on this machine, as trees that travel.
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

// What lies at a path of this machine.
struct LocalTree {
  std::vector<LocalFile> files;                 // sorted by path
  std::vector<std::string> empty_folders;       // below the root, without a file in them that travels
  std::vector<std::string> left_out;            // what cannot travel, and why: "step-1/pipe: a FIFO"
  std::map<std::string, std::string> links;     // Links::kept: by path, what they say, from their own folder: "step-1"
  std::map<std::string, std::int64_t> folders;  // all others below the root, by path: their times of last change, in nanoseconds
};

// What becomes of a link to a file or a folder of the tree.
enum class Links {
  followed,  // what it leads to has a second path
  kept,      // it stays a link, and never leads out of the tree: LocalTree::links
};

// All files at `root`: itself (path ""), or everything below it. Links are followed, as s5cmd and the AWS CLI do: to files wherever they are, to
// folders that lie in the tree. What leads nowhere, out of the tree or round in a circle, and what is neither file nor folder, is left out. Errors:
// not_found; input, for a root that cannot travel; denied.
Result<LocalTree> read_tree(const std::filesystem::path& root, Links links = Links::followed);
// Whether a path that should be relative to a folder leads out of it, as it is written.
bool leads_out(const std::filesystem::path& path);
// "left out: step-1/pipe: a FIFO; …", the first of them, or "".
std::string describe_left_out(const std::vector<std::string>& left_out);

// The state of one file. Errors as above.
Result<LocalFile> read_state(const std::filesystem::path& root, const std::string& path);

// Exactly `size` bytes from `first` on. Error: input, when the file is shorter; denied.
Result<std::string> read_part(const std::filesystem::path& file, std::int64_t first, std::int64_t size);

// A file that grows into its place: it has no name until it is whole, so that a process that is killed leaves nothing. Where the file system cannot
// do that, it is written beside its place under another name, and nothing is left when it is given up.
class PartialFile {
 public:
  // Makes parent folders. Errors: denied, input (the path is a folder), internal (no space).
  static Result<std::unique_ptr<PartialFile>> create(std::filesystem::path target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();
  // From any thread. Errors: internal (no space).
  Result<void> write(std::int64_t first, std::string_view bytes) const;
  // When nobody writes any more.
  Result<void> finish();

 private:
  PartialFile(std::filesystem::path target, std::filesystem::path beside, Fd fd);
  [[nodiscard]] Result<void> outcome(int error) const;
  std::filesystem::path m_target, m_beside;  // beside: empty as long as it needs no name
  Fd m_fd;
  bool m_finished = false;
};

}  // namespace trainstep::objectstore
