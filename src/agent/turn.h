// Of several processes of one pod that want the same data, one fetches them and the others wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/running_loop.h"

namespace trainstep::agent {

class Turn {
 public:
  // `scratch`: a folder of the pod; empty: there are no others. `what`: other data are another turn.
  Turn(const std::string& scratch, const std::string& what);
  // Waits for it; the loop runs meanwhile. Error: cancelled, as await().
  [[nodiscard]] Result<void> take(RunningLoop& loop) const;
  // Whether it will be known who was here before.
  [[nodiscard]] bool is_kept() const { return !m_mark.empty(); }
  // Somebody has fetched all of it already, perhaps in a container that was here before.
  [[nodiscard]] bool is_done() const;
  // Errors: denied, internal.
  [[nodiscard]] Result<void> done() const;
  // Somebody who was here before lives, and uses the data: they are not to be fetched anew below him. Where nobody knows, it is so.
  [[nodiscard]] bool is_in_use() const;
  // From now on it is in use for others, as long as the result is kept. It goes with this process, however that ends.
  [[nodiscard]] Fd use();

 private:
  std::string m_mark;  // a file; empty: none is kept
  Fd m_lock, m_users;
};

}  // namespace trainstep::agent
