// The agent's sequence, on any loop and over any transport: fetch → run the program → deliver → write the record.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/program.h"
#include "base/running_loop.h"
#include "http/transport.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// What the sequence depends on: exec() provides it in a pod, the simulated world in the simulator.
struct Context {
  RunningLoop& loop;
  http::Transport& transport;
  std::map<std::string, std::string> environment;                    // where credentials are that are not in files
  std::uint64_t seed = 0;                                            // for jitter
  std::function<void(const std::string& line)> log;                  // messages for people
  std::string index{};                                               // of a replica that shares nothing with the others; otherwise empty
  std::function<Result<ProgramEnd>(const OnOutlived&)> run_program;  // to its end, running the loop; empty: there is none. As run_program()
  using Stopped = std::function<void(int signal)>;
  std::function<std::shared_ptr<void>(Stopped)> signals;  // handles signals that ask us to stop, as long as the returned object lives
  objectstore::TransferLimits limits{};
};

// `scratch`: as in ExecOptions. Returns what is to be reported: the end of the program or, if something else failed, that error, with the exit code
// of its class.
result::PodReport work(const plan::Task& task, bool primary, const std::string& scratch, const Context& context);

}  // namespace trainstep::agent
