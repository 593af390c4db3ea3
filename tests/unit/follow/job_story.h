// A job's story on virtual time: events go in, orders come out, timers fire when their time has come.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "follow/job_run_state.h"
#include "support/catch.h"
#include "support/pods.h"

namespace trainstep::follow::test {

using namespace trainstep::test;
using Judged = job_types::Judgement::State;
using result::Phase;
using result::VerdictClass;
using Lines = std::vector<std::string>;

inline const Time start = *from_rfc3339("2026-11-21T08:00:00Z");

// A container that waits, and why.
inline Json waits(const std::string& reason, const std::string& message = "") {
  return status("Pending", Json::array({container(waiting(reason, message))}));
}

// worker-0 … of a PyTorchJob behind its master; all programs run in the container "train".
inline Rules gang(int workers) {
  Rules rules;
  rules.logs = {"primary"};
  rules.members.push_back({.name = "master-0", .primary = true, .awaited = true, .container = "train"});
  for (int i = 0; i < workers; ++i) rules.members.push_back({.name = "worker-" + std::to_string(i), .container = "train"});
  return rules;
}

inline Rules single() {
  Rules rules;
  rules.logs = {"primary"};
  rules.members.push_back({.name = "main", .primary = true, .awaited = true, .container = "train"});
  return rules;
}

inline JobRules job_rules() {
  JobRules rules;
  rules.job = "pytorchjobs/digits";
  rules.operator_absent = Duration{120'000};
  rules.settle = Duration{5'000};
  rules.log_end = Duration{15'000};
  return rules;
}

inline JobRules counting() {
  auto rules = job_rules();
  rules.restarts_are_ours = true;
  return rules;
}

inline Rules on_failure(Rules rules, int backoff_limit) {
  rules.policy.restart_policy = "OnFailure";
  rules.policy.backoff_limit = backoff_limit;
  return rules;
}

class Story {
 public:
  explicit Story(Rules rules, JobRules job = job_rules()) : follower(std::move(rules), std::move(job)) { keep(follower.begin(now)); }

  template <typename What>
  void event(What what) {
    const auto before = orders.size();
    keep(follower.handle({now, std::move(what)}));
    of_last_event.assign(orders.begin() + static_cast<std::ptrdiff_t>(before), orders.end());
    if (lists_at_once && !of<Refresh>(of_last_event).empty()) keep(follower.handle({now, PodsListed{}}));
  }
  // Fires what is due on the way.
  void pass(Duration duration) {
    const auto until = now + duration;
    for (;;) {
      const auto next = std::min_element(m_timers.begin(), m_timers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      if (next == m_timers.end() || next->second > until) break;
      now = std::max(now, next->second);
      const int timer = next->first;
      m_timers.erase(next);
      event(TimerFired{timer});
    }
    now = until;
  }

  // --- usual events ---
  void found(bool adopted = false) { event(JobFound{adopted}); }
  void job(Judged state, const std::string& reason = "", const std::string& message = "") { event(JobSeen{{state, reason, message}}); }
  void pod(MemberIndex member, Json status, const std::string& uid = "", const std::string& node = "node-1") {
    event(PodSeen{member, view(member, std::move(status), uid, node)});
  }
  job_types::PodView view(MemberIndex member, Json status, const std::string& uid = "", const std::string& node = "node-1") const {
    const auto& name = follower.rules().members[member].name;
    auto object = trainstep::test::pod("digits-" + name, uid.empty() ? name : uid, std::move(status), node);
    // Pods of later uids ("b" after "a") are younger.
    if (!uid.empty()) object["metadata"]["creationTimestamp"] = to_rfc3339(start + std::chrono::seconds(uid.back()));
    return job_types::read_pod(object);
  }
  void deleting(MemberIndex member, Json status, const std::string& uid = "") {
    auto pod = view(member, std::move(status), uid);
    pod.deleting = true;
    event(PodSeen{member, std::move(pod)});
  }
  void gone(MemberIndex member, const std::string& uid = "") { event(PodGone{member, uid.empty() ? follower.rules().members[member].name : uid}); }
  void warning(const std::string& reason, const std::string& message, const std::string& version = "") {
    event(WarningSeen{"PyTorchJob digits", reason, message, version});
  }
  void output(MemberIndex member, std::string_view lines) {
    const auto logs = all<FollowLog>();
    const auto log = std::find_if(logs.rbegin(), logs.rend(), [&](const FollowLog& order) { return order.member == member; });
    event(MemberOutput{member, lines, log == logs.rend() ? "" : log->attempt});
  }
  void logs_complete() {
    for (const auto& order : all<EndLog>()) event(LogComplete{order.member, order.attempt});
  }
  // Found, and everything runs.
  void all_run() {
    found();
    job(Judged::pending);
    for (MemberIndex i = 0; i < follower.rules().members.size(); ++i) pod(i, runs());
    job(Judged::running);
  }

  // --- what came of it ---
  template <typename Order>
  static std::vector<Order> of(const std::vector<Action>& actions) {
    std::vector<Order> found;
    for (const auto& action : actions)
      if (const auto* order = std::get_if<Order>(&action)) found.push_back(*order);
    return found;
  }
  template <typename Order>
  std::vector<Order> all() const {
    return of<Order>(orders);
  }
  std::optional<result::Verdict> verdict() const {
    const auto finishes = all<Finish>();
    REQUIRE(finishes.size() <= 1);
    return finishes.empty() ? std::nullopt : std::optional(finishes.front().verdict);
  }
  bool removed() const { return !all<RemoveJob>().empty(); }
  // Removed, and the backend has done so.
  result::Verdict verdict_after_removal() {
    CHECK(all<RemoveJob>().size() == 1);
    CHECK_FALSE(verdict());
    event(JobGone{});
    if (!verdict()) pass(follower.rules().policy.stop_grace + job_rules().settle);  // its programs' grace
    REQUIRE(verdict());
    return *verdict();
  }
  bool said(const std::string& words) const { return times_said(words) > 0; }
  std::ptrdiff_t times_said(const std::string& words) const {
    const auto lines = all<LogMessage>();
    return std::count_if(lines.begin(), lines.end(), [&](const LogMessage& line) { return line.text.find(words) != std::string::npos; });
  }
  std::string story() const {
    std::string text;
    for (const auto& line : all<LogMessage>()) text += line.text + "\n";
    return text;
  }
  std::optional<Phase> phase() const { return follower.timeline().current(); }

  Time now = start;
  JobRunState follower;
  std::vector<Action> orders, of_last_event;
  bool lists_at_once = true;  // what is asked for has just been told

 private:
  void keep(std::vector<Action> actions) {
    for (auto& action : actions) {
      if (const auto* timer = std::get_if<SetTimer>(&action)) m_timers[timer->timer] = now + timer->delay;
      orders.push_back(std::move(action));
    }
  }
  std::map<int, Time> m_timers;
};

inline void check(const result::Verdict& verdict, VerdictClass verdict_class, int code, const std::string& words) {
  CHECK(name(verdict.verdict_class) == name(verdict_class));
  CHECK(exit_code(verdict) == code);
  CHECK_THAT(describe(verdict), Catch::Matchers::Contains(words));
}

// The logs that were asked for: "POD ATTEMPT CONTAINER".
inline Lines opened(const Story& story) {
  Lines logs;
  for (const auto& order : story.all<FollowLog>())
    logs.push_back(order.pod + " " + order.attempt + " " + order.container + (order.previous ? " previous" : ""));
  return logs;
}

inline Lines ended(const Story& story) {
  Lines logs;
  for (const auto& order : story.all<EndLog>()) logs.push_back(order.attempt + (order.restarted ? " restarted" : ""));
  return logs;
}

}  // namespace trainstep::follow::test
