// A place for the temporary files of one run, which goes with it: programs – KFP's own wrapper of a Python function, to begin with – leave theirs
// behind. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "process/child.h"

namespace trainstep::local {

class Scratch {
 public:
  // Makes a new folder below the environment's TMPDIR, or /tmp, with a short path (sockets are made there), and names it as TMPDIR. Where none can be
  // made, the environment stays as it is.
  explicit Scratch(process::Variables& environment);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();  // removes it with all that is in it
  // Whether a path lies in it.
  [[nodiscard]] bool holds(std::string_view path) const;
  // It stays: somebody points at what lies there.
  void keep() { m_kept = true; }

 private:
  std::filesystem::path m_path;  // empty: there is none
  bool m_kept = false;
};

}  // namespace trainstep::local
