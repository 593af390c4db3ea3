// What the agent does, one thing after another, on any loop and over any transport: fetch → run the program → deliver → write the record.
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

// Whom it works with: in a pod exec() puts them together, in the simulator the world does.
struct Context {
  RunningLoop& loop;
  http::Transport& transport;
  std::map<std::string, std::string> environment;                  // where the keys are that no file holds
  std::uint64_t seed = 0;                                          // of the jitter
  std::function<void(const std::string& line)> tell;               // for people
  std::string index{};                                             // of a replica that shares nothing with the others; else empty
  std::function<Result<ProgramEnd>(const Outlived&)> run_program;  // to its end, the loop runs meanwhile; empty: there is none. As run_program()
  using Stopped = std::function<void(int signal)>;
  std::function<std::shared_ptr<void>(Stopped)> signals;  // those that want to end us, as long as what it returns lives
  objectstore::TransferLimits limits{};
};

// `scratch`: as in ExecOptions. → what is to be told: the program's end or, when it is not the program that failed, what did, with the exit code of
// its class.
result::PodReport work(const plan::Task& task, bool primary, const std::string& scratch, const Context& context);

}  // namespace trainstep::agent
