// Makes one of several processes of a pod fetch data that all of them need, while the others wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/running_loop.h"

namespace trainstep::agent {

class PodLock {
 public:
  // `scratch`: a folder of the pod; empty: there are no other processes. `what`: identifies the data.
  PodLock(const std::string& scratch, const std::string& what);
  // Waits for the lock; the loop runs meanwhile. Error: cancelled, as await().
  [[nodiscard]] Result<void> take(RunningLoop& loop) const;
  // Whether later processes can see the state of this one.
  [[nodiscard]] bool is_kept() const { return !m_mark.empty(); }
  // Whether the data are complete, possibly fetched in an earlier container.
  [[nodiscard]] bool is_done() const;
  // Errors: denied, internal.
  [[nodiscard]] Result<void> done() const;
  // Whether an earlier process is still running and uses the data: they must not be fetched again while it does. True if unknown.
  [[nodiscard]] bool is_in_use() const;
  // Marks the data as in use for others, as long as the result is kept. The mark is released when this process exits, even if it is killed.
  [[nodiscard]] Fd use();

 private:
  std::string m_mark;  // a file; empty: none is kept
  Fd m_lock, m_users;
};

}  // namespace trainstep::agent
