// Which files of a tree must be transferred, and which are identical already: a plan as a value (pure).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "objectstore/answers.h"

namespace trainstep::objectstore {

// A file of a tree. Its path is relative to the tree's root, with '/'; "" is the root itself, if that is a single file.
struct LocalFile {
  std::string path;
  std::int64_t size = 0;
  std::int64_t changed = 0;  // modification time (mtime), in nanoseconds
  std::int64_t touched = 0;  // status change time (ctime), which no program can set: `cp -p` and `tar x` give new content an old mtime
  // A new ctime alone (chmod, another link) is not a change.
  bool operator==(const LocalFile& other) const { return path == other.path && size == other.size && changed == other.changed; }
};

// The state of a file and its object when they were last identical.
struct Known {
  std::int64_t size = 0;
  std::int64_t changed = 0;
  std::string etag;
  std::int64_t touched = 0;
};
using KnownFiles = std::map<std::string, Known>;  // by path

// Whether the file is unchanged since it was last identical to its object.
bool is_unchanged_since_download(const LocalFile& file, const KnownFiles& known);

// The difference between two states of one tree, as a sentence about the first file that differs: "weights was removed"; "": none.
std::string describe_change(const std::vector<LocalFile>& before, const std::vector<LocalFile>& now);

// Whether the paths can be keys, which must be UTF-8 (Amazon S3 User Guide, "Naming Amazon S3 objects"), as must our lists of them. Error: input.
Result<void> check_names(const std::vector<LocalFile>& files);

// A file and its object: `object.key` is relative to the tree's address, as `file.path` is to its root. They are usually equal.
struct TransferItem {
  LocalFile file;
  Object object;
};

struct SyncPlan {
  std::vector<TransferItem> items;    // large ones first: they take longest
  std::int64_t bytes = 0;             // total size of `items`
  std::size_t equal = 0;              // number of files that need no transfer
  std::vector<std::string> folders;   // download: to be created, including empty ones
  std::vector<std::string> gone;      // download: unchanged files whose objects no longer exist
  std::vector<std::string> left_out;  // download: objects that cannot be files below a folder, and why: "a//b: not a path below a folder"
};

// `there`: the objects below the prefix, with keys relative to it. A file is not transferred if file and object are both as they were when they were
// last identical.
SyncPlan plan_upload(const std::vector<LocalFile>& files, const std::vector<Object>& there, const KnownFiles& known);
// Keys that are not paths below a folder ("../x", "a//b", "/x") are left out, and so are objects that have others below them.
SyncPlan plan_download(const std::vector<Object>& there, const std::vector<LocalFile>& files, const KnownFiles& known);

}  // namespace trainstep::objectstore
