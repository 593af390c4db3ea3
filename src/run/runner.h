// Runs one step with any backend on any loop: prepare, start, follow, collect.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "follow/gang_run_state.h"
#include "run/backend.h"
#include "run/listener.h"
#include "run/outcome.h"

namespace trainstep::run {

class Runner {
 public:
  // All references must outlive the runner.
  Runner(Loop& loop, Backend& backend, std::vector<Listener*> listeners, std::unique_ptr<follow::RunState> machine);
  // For a gang of processes.
  Runner(Loop& loop, Backend& backend, std::vector<Listener*> listeners, follow::Rules rules);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  // Calls `done` once, from the loop, when everything has ended and the outputs are collected.
  void begin(std::function<void(Outcome)> done);
  // SIGTERM or SIGINT arrived.
  void request_stop(int signal);
  // Adds an event that does not come from the backend.
  void post(decltype(follow::Event::what) what);

 private:
  void handle(const follow::Event& event);
  void perform(const std::vector<follow::Action>& actions);
  void perform(const follow::StartMember& order) { m_backend.start(order); }
  void perform(const follow::StopMember& order) { m_backend.stop(order); }
  void perform(const follow::SetTimer& timer);
  void perform(const follow::ShowOutput& output);
  void perform(const follow::LogMessage& message);
  void perform(const follow::ShowProgress& progress);
  void perform(const follow::FollowLog& order) { m_backend.follow_log(order); }
  void perform(const follow::EndLog& order) { m_backend.end_log(order); }
  void perform(const follow::Refresh&) { m_backend.refresh(); }
  void perform(const follow::WatchPodEvents&) { m_backend.watch_pod_events(); }
  void perform(const follow::RemoveJob& order) { m_backend.remove_job(order); }
  void perform(const follow::KeepJob& order) { m_backend.keep_job(order); }
  void perform(const follow::Finish& finish);
  [[nodiscard]] Outcome outcome_of(result::Verdict verdict) const;

  Loop& m_loop;
  Backend& m_backend;
  std::vector<Listener*> m_listeners;
  std::unique_ptr<follow::RunState> m_machine;
  std::map<int, Timer> m_timers;
  std::function<void(Outcome)> m_done;
  Time m_started;
};

}  // namespace trainstep::run
