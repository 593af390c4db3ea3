// A pod's program, for as long as a step follows its job (docs/adr/0036-a-lease-for-a-job-without-an-owner.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/lease_watch.h"
#include "base/running_loop.h"
#include "http/transport.h"
#include "kube/credentials.h"
#include "plan/task.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// Once the job's Lease has run out, it ends the program, says why in the report, and removes the inputs that the step has put into the job's prefix.
class FollowedProgram {
 public:
  struct Context {
    RunningLoop& loop;
    http::Transport& transport;
    std::map<std::string, std::string> environment;    // where credentials of stores are that are not in files
    std::uint64_t seed;                                // for jitter
    std::function<void(const std::string& line)> log;  // messages for people
    std::function<void()> stop;                        // SIGTERM for the program; before it has started, for the agent
    std::function<void()> kill;                        // SIGKILL, when plan::TaskLease::grace has passed
  };
  // References must outlive it. `credentials`: of the pod's service account; null: there are none, and `why`. A task without a Lease is not watched.
  FollowedProgram(Context context, const plan::Task& task, std::shared_ptr<kube::Credentials> credentials, const std::string& why);
  FollowedProgram(const FollowedProgram&) = delete;
  FollowedProgram& operator=(const FollowedProgram&) = delete;

  // The program has ended: its outputs are delivered, whoever follows.
  void ended();
  // Call when the outputs are delivered. Runs the loop.
  void conclude(result::PodReport& report);

 private:
  void lapsed(const std::string& why);
  void remove_inputs();

  Context m_context;
  const plan::Task& m_task;
  std::optional<LeaseWatch> m_watch;
  std::string m_why;  // it was ended
  Timer m_kill;
};

}  // namespace trainstep::agent
