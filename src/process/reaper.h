// Learns from SIGCHLD which children have ended, and buries orphans that were given to us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/poll_loop.h"

namespace trainstep::process {

// At most one at a time in a process: it waits for every child there is. Blocks SIGCHLD while it lives.
class Reaper {
 public:
  using Ended = std::function<void(int wait_status)>;  // as waitpid(2) gives it

  explicit Reaper(PollLoop& loop);
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Calls `ended` once from the loop, after which the pid may belong to somebody else. To be called in the same task that spawned the child.
  // The loop keeps running as long as somebody is watched.
  void watch(pid_t pid, Ended ended);
  void forget(pid_t pid);

  // Calls `ended` from the loop whenever orphans have been buried, until its owner forgets them. The loop keeps running as long.
  void watch_orphans(const void* owner, std::function<void()> ended);
  void forget_orphans(const void* owner);

  // Children that are not orphans: those that are watched, and those that were there before the reaper.
  [[nodiscard]] std::vector<pid_t> claimed() const;

 private:
  void reap();
  void listen();
  void tell_of_orphans();

  PollLoop& m_loop;
  Fd m_signals;
  std::vector<pid_t> m_strangers;
  std::map<pid_t, Ended> m_watched;
  std::map<const void*, std::function<void()>> m_orphans;
};

}  // namespace trainstep::process
