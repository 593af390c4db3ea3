// Of several processes of one pod that want the same data, one fetches them and the others wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace trainstep::agent {

class Turn {
 public:
  // Waits for the turn. `scratch`: a folder of the pod; empty: there are no others. `what`: other data are another turn.
  Turn(const std::string& scratch, const std::string& what);
  // Whether it will be known who was here before.
  [[nodiscard]] bool is_kept() const { return !m_mark.empty(); }
  // Somebody has fetched all of it already, perhaps in a container that was here before.
  [[nodiscard]] bool is_done() const;
  // Errors: denied, internal.
  [[nodiscard]] Result<void> done() const;

 private:
  std::string m_mark;  // a file; empty: none is kept
  Fd m_lock;
};

}  // namespace trainstep::agent
