// Tells whether a program has written to a path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace trainstep {

// What a path held before the run began, as far as it is needed to tell whether the run wrote to it.
class Footprint {
 public:
  explicit Footprint(const std::filesystem::path& path) : m_path(path), m_before(look(path)) {}
  // Something is there now, and it is not only what was there before. Folders of more than 10,000 entries count as written.
  [[nodiscard]] bool written() const;
  [[nodiscard]] bool was_there() const { return !m_before.empty(); }

 private:
  static std::string look(const std::filesystem::path& path);
  std::filesystem::path m_path;
  std::string m_before;  // digest of names, sizes and times; empty: nothing was there
};

}  // namespace trainstep
