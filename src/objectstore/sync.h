// Which files of a tree have to travel, and which are there already: a plan as a value (pure).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "objectstore/answers.h"

namespace trainstep::objectstore {

// A file of a tree. Its path is relative to the tree's root, with '/'; "" is the root itself, where that is a single file.
struct LocalFile {
  std::string path;
  std::int64_t size = 0;
  std::int64_t changed = 0;  // its time of last change, in nanoseconds
  std::int64_t touched = 0;  // the same of its status, which no program can set: `cp -p` and `tar x` give new content an old time of change
  // A new status alone (chmod, another link) is no change.
  bool operator==(const LocalFile& other) const { return path == other.path && size == other.size && changed == other.changed; }
};

// How a file and its object were when they were last known to be the same.
struct Known {
  std::int64_t size = 0;
  std::int64_t changed = 0;
  std::string etag;
  std::int64_t touched = 0;
};
using KnownFiles = std::map<std::string, Known>;  // by path

// Nobody has changed the file since it was last known to be the same as its object.
bool is_as_it_came(const LocalFile& file, const KnownFiles& known);

// What differs between two looks at one tree, as a sentence of the first file that does: "weights was removed"; "": nothing.
std::string describe_change(const std::vector<LocalFile>& before, const std::vector<LocalFile>& now);

// Whether their paths can be keys: those are UTF-8 (Amazon S3 User Guide, "Naming Amazon S3 objects"), and so are our lists of them. Error: input.
Result<void> check_names(const std::vector<LocalFile>& files);

// Both sides of one file: `object.key` is relative to the tree's address, as `file.path` is to its root. Mostly they are the same.
struct TransferItem {
  LocalFile file;
  Object object;
};

struct SyncPlan {
  std::vector<TransferItem> items;    // large ones first: they take longest
  std::int64_t bytes = 0;             // of them
  std::size_t equal = 0;              // files that need not travel
  std::vector<std::string> folders;   // download: to be made, empty ones too
  std::vector<std::string> gone;      // download: files that are as they came, of which there is no object any more
  std::vector<std::string> left_out;  // download: objects that can be no file below a folder, and why: "a//b: no path"
};

// `there`: what the prefix holds, keys relative to it. A file stays where it is when file and object are both what they were when they were the same.
SyncPlan plan_upload(const std::vector<LocalFile>& files, const std::vector<Object>& there, const KnownFiles& known);
// Left out are keys that are no paths below a folder ("../x", "a//b", "/x"), and objects that have others below them.
SyncPlan plan_download(const std::vector<Object>& there, const std::vector<LocalFile>& files, const KnownFiles& known);

}  // namespace trainstep::objectstore
