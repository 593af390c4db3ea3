// The state machine of a gang that we start ourselves, as local processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "follow/run_state.h"

namespace trainstep::follow {

// Rules:
//   success   all awaited members have succeeded; servers are stopped at once, others after Rules::linger; a failure in the meantime is reported,
//   with
//             its last lines, and changes nothing
//   failure   a member fails and has no restarts left: it is reported as the first, all others are stopped, with a short grace
//   restart   OnFailure and Always after any failure, ExitCode after a signal or a code ≥ 128; each counts against backoff_limit, with growing pauses
//   stop      on SIGTERM or SIGINT all members get the signal, then the grace; also after the success, as long as members run: nothing has been
//             delivered. After a failure the verdict stays. A SIGINT that is the second signal ends the grace
//   limits    starting, running, total: timeout. After the success, total and finishing only end Rules::linger
// Finish is returned when every member has ended.
class GangRunState : public RunState {
 public:
  explicit GangRunState(Rules rules) : RunState(std::move(rules)) {}
  std::vector<Action> begin(Time at) override;
  std::vector<Action> handle(const Event& event) override;
  [[nodiscard]] Json record_head(Time began) const override;

 private:
  void on(const Prepared&, Time at);
  void on(const MemberStarted& started, Time at);
  void on(const MemberOutput& output, Time at);
  void on(const MemberEnded& ended, Time at);
  void on(const BackendMessage& told, Time) { told.warning ? warn(told.text) : info(told.text); }
  void on(const BackendFailed& failed, Time at);
  void on(const StopRequested& request, Time at);
  void on(const TimerFired& fired, Time at);
  template <typename Other>  // only happens in a cluster
  void on(const Other&, Time) {}

  void member_failed(MemberIndex member, Time at);
  [[nodiscard]] bool may_restart(const Termination& ending) const;
  void order_start(MemberIndex member);
  void restart_later(MemberIndex member);
  void limit_passed(std::string_view phase, const std::optional<Duration>& limit, Time at);
  void end_linger(const std::string& why);
  void succeed(Time at);
  void tell_late_failure(MemberIndex member);
  void decide(result::Verdict verdict, Time at);
  void stop_members(Duration grace, bool servers_only);
  void finish_if_all_ended(Time at);
  [[nodiscard]] result::FirstFailure failure_of(MemberIndex member) const;

  int m_restarts = 0;
  bool m_stop_requested = false;
};

}  // namespace trainstep::follow
