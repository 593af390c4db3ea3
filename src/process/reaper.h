// Reaps children on SIGCHLD: those being watched, and orphans adopted by this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/poll_loop.h"

namespace trainstep::process {

// At most one per process at a time: it waits for every child. Blocks SIGCHLD while it exists.
class Reaper {
 public:
  using Ended = std::function<void(int wait_status)>;  // as returned by waitpid(2)

  explicit Reaper(PollLoop& loop);
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Calls `ended` once from the loop; from then on the pid may be reused. Call it in the same task that spawned the child. Keeps the loop running
  // while anything is watched.
  void watch(pid_t pid, Ended ended);
  void forget(pid_t pid);

  // Calls `ended` from the loop whenever orphans were reaped, until forget_orphans(owner). Keeps the loop running until then.
  void watch_orphans(const void* owner, std::function<void()> ended);
  void forget_orphans(const void* owner);

  // Children that are not orphans: those being watched, and those that existed before the reaper.
  [[nodiscard]] std::vector<pid_t> claimed() const;

 private:
  void reap();
  void listen();
  void tell_of_orphans();

  PollLoop& m_loop;
  Fd m_signals;
  std::vector<pid_t> m_preexisting;
  std::map<pid_t, Ended> m_watched;
  std::map<const void*, std::function<void()>> m_orphans;
};

}  // namespace trainstep::process
