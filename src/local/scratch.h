// A place for the temporary files of one run, which goes with it: programs – KFP's own wrapper of a Python function, to begin with – leave theirs
// behind. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trainstep::local {

class Scratch {
 public:
  // A new folder below `where`, with a short path: sockets are made there. path() is empty where none can be made.
  explicit Scratch(const std::filesystem::path& where);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();  // removes it with all that is in it
  [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
  // It stays: somebody points at what lies there.
  void keep() { m_kept = true; }

 private:
  std::filesystem::path m_path;
  bool m_kept = false;
};

}  // namespace trainstep::local
