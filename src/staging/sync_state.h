// What was identical locally and in a store at the end of a transfer: the next one transfers only what has changed since.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "objectstore/sync.h"

namespace trainstep::staging {

class SyncState {
 public:
  SyncState() = default;  // in memory only
  // Also loads what an earlier process has saved in `folder`, and saves it there for the next one.
  explicit SyncState(std::filesystem::path folder) : m_folder(std::move(folder)) {}

  // The known files of the tree at `path`, which is stored at `uri`.
  const objectstore::KnownFiles& known(const std::string& path, const std::string& uri);
  // Adds to the known files, in memory.
  void add(const std::string& path, const std::string& uri, const objectstore::KnownFiles& same);
  // Saves them. A failure to write is not an error: then everything is transferred again.
  void keep(const std::string& path, const std::string& uri);

 private:
  using Tree = std::pair<std::string, std::string>;  // path, uri
  [[nodiscard]] std::filesystem::path page(const Tree& tree) const;
  objectstore::KnownFiles& open(const Tree& tree);

  std::filesystem::path m_folder;  // empty: none
  std::map<Tree, objectstore::KnownFiles> m_trees;
};

}  // namespace trainstep::staging
