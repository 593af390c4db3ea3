// What was the same here and in a store when a transfer ended: of the next one only what has changed since must travel.
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
  SyncState() = default;  // knows what it was told while it lives
  // Knows also what an earlier process has left in `folder`, and leaves it there for the next one.
  explicit SyncState(std::filesystem::path folder) : m_folder(std::move(folder)) {}

  // The files of the tree at `path`, which is kept at `uri`.
  const objectstore::KnownFiles& known(const std::string& path, const std::string& uri);
  // Adds to what is known, in memory.
  void add(const std::string& path, const std::string& uri, const objectstore::KnownFiles& same);
  // Writes it down. That it cannot be written is no error: then all travels again.
  void keep(const std::string& path, const std::string& uri);

 private:
  using Tree = std::pair<std::string, std::string>;  // path, uri
  [[nodiscard]] std::filesystem::path page(const Tree& tree) const;
  objectstore::KnownFiles& open(const Tree& tree);

  std::filesystem::path m_folder;  // empty: none
  std::map<Tree, objectstore::KnownFiles> m_trees;
};

}  // namespace trainstep::staging
