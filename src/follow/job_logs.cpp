// SPDX-License-Identifier: Apache-2.0
#include "follow/job_logs.h"

#include <algorithm>

namespace trainstep::follow {

bool JobLogs::open(FollowLog log) {
  if (!m_logs.try_emplace({log.member, log.attempt}).second) return false;
  m_actions.add(std::move(log));
  return true;
}

bool JobLogs::open_ended(FollowLog log) {
  const auto member = log.member;
  const auto attempt = log.attempt;
  if (!open(std::move(log))) return false;
  end(member, attempt, false, false);
  return true;
}

void JobLogs::end(MemberIndex member, const std::string& attempt, bool restarted, bool gone) {
  const auto log = m_logs.find({member, attempt});
  if (log == m_logs.end() || log->second.complete || (log->second.ending && !restarted && !gone)) return;
  log->second.ending = true;
  m_actions.add(EndLog{member, attempt, restarted, gone});
}

void JobLogs::complete(const LogComplete& complete) {
  const auto log = m_logs.find({complete.member, complete.attempt});
  if (log == m_logs.end()) return;
  log->second.complete = true;
  log->second.whole = complete.whole;
}

bool JobLogs::go_on() const {
  return std::ranges::any_of(m_logs, [](const auto& log) { return !log.second.complete; });
}

std::set<MemberIndex> JobLogs::without_end() const {
  std::set<MemberIndex> members;
  for (const auto& [key, log] : m_logs)
    if (log.ending && !log.complete) members.insert(key.first);
  return members;
}

std::ptrdiff_t JobLogs::read_whole(MemberIndex member) const {
  return std::ranges::count_if(m_logs, [member](const auto& log) { return log.first.first == member && log.second.whole && log.second.metrics; });
}

}  // namespace trainstep::follow
