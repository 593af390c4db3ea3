// Decides which logs of a job's attempts are still to be read: each is opened once, then read to its end, then complete. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "follow/actions.h"
#include "follow/event.h"

namespace trainstep::follow {

class JobLogs {
 public:
  // Orders go to `actions`, which must outlive it.
  explicit JobLogs(Actions& actions) : m_actions(actions) {}

  // Orders a log. False, and no order: it was before.
  bool open(FollowLog log);
  // The same, of an attempt that has ended before its log was opened: it is read to its end.
  bool open_ended(FollowLog log);
  // Metrics are read from this log, which was opened.
  void counts(MemberIndex member, const std::string& attempt) { m_logs[{member, attempt}].metrics = true; }
  // The attempt has ended: orders the rest of its log, if it was opened and this was not ordered before. `restarted`, `gone`: as in EndLog, which is
  // ordered again to tell them.
  void end(MemberIndex member, const std::string& attempt, bool restarted, bool gone);
  void complete(const LogComplete& complete);

  [[nodiscard]] bool opened(MemberIndex member, const std::string& attempt) const { return m_logs.contains({member, attempt}); }
  // One of them is not complete.
  [[nodiscard]] bool go_on() const;
  // Whose logs are being read to their end.
  [[nodiscard]] std::set<MemberIndex> without_end() const;
  // The number of the member's logs that metrics are read from, and that were read from the first line to the last.
  [[nodiscard]] std::ptrdiff_t read_whole(MemberIndex member) const;

 private:
  struct Log {
    bool ending = false;    // EndLog was ordered
    bool complete = false;  // and confirmed
    bool whole = false;     // and nothing of it is missing
    bool metrics = false;   // they are read from it
  };
  Actions& m_actions;
  std::map<std::pair<MemberIndex, std::string>, Log> m_logs;  // opened ones
};

}  // namespace trainstep::follow
