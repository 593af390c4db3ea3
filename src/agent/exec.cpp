// SPDX-License-Identifier: Apache-2.0
#include "agent/exec.h"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "agent/followed_program.h"
#include "agent/launcher.h"
#include "agent/pod_message.h"
#include "agent/replica_run.h"
#include "http/bulk_transport.h"
#include "http/observed_transport.h"
#include "http/waiting.h"
#include "kube/credentials.h"
#include "objectstore/credentials.h"
#include "process/descendants.h"
#include "process/signals.h"

namespace trainstep::agent {
namespace {

using result::PodReport;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

// Ends the program as a kubelet does: this process gets the signal, and passes it on.
std::unique_ptr<FollowedProgram> follow(PollLoop& loop, http::Transport& transport, const plan::Task& task) {
  auto found = kube::in_cluster();
  const auto why = found ? "this is not a pod of a cluster" : found.error().message;
  std::shared_ptr<kube::Credentials> credentials;
  if (found && *found) credentials = std::make_shared<kube::Credentials>(std::move(**found));
  const auto environment = process::own_environment();
  FollowedProgram::Context context{.loop = loop,
                                   .transport = transport,
                                   .environment = {environment.begin(), environment.end()},
                                   .seed = random_seed(),
                                   .log = log,
                                   .stop = [] { ::kill(::getpid(), SIGTERM); },
                                   .kill = kill_program};
  return std::make_unique<FollowedProgram>(std::move(context), task, std::move(credentials), why);
}

// The agent's sequence (replica_run.h) in a real pod: with the process's own environment and signals, and the program as a child.
PodReport work_in_pod(const plan::Task& task, const ExecOptions& options) {
  auto environment = process::own_environment();
  const bool primary = is_primary(options.role, environment);
  std::erase_if(environment, [](const auto& variable) { return variable.first == plan::task_variable; });
  PollLoop loop;
  end_with_guard(loop, options.guard);
  http::BulkTransport network(loop);
  http::Waiting waiting(loop, log);
  http::ObservedTransport transport(network, {&waiting});
  Context with{.loop = loop,
               .transport = transport,
               .environment = {environment.begin(), environment.end()},
               .seed = random_seed(),
               .log = log,
               .index = index_of(options.role, environment),
               .run_program = {},
               .signals = [&loop](auto stopped) { return std::make_shared<process::Signals>(loop, std::move(stopped)); }};
  std::unique_ptr<FollowedProgram> followed;
  if (!options.argv.empty() && watches_lease(options.role, primary, with.index)) followed = follow(loop, transport, task);
  if (!options.argv.empty())
    with.run_program = [&](const OnOutlived& outlived) {
      await_told();
      auto end = run_program(loop, options.argv, environment, outlived);
      if (followed) followed->ended();
      return end;
    };
  auto report = work(task, primary, options.scratch, with);
  if (followed) followed->conclude(report);
  return report;
}

PodReport launch_in_pod(const plan::Task& task, const ExecOptions& options) {
  PollLoop loop;
  end_with_guard(loop, options.guard);
  http::BulkTransport network(loop);
  const auto followed = follow(loop, network, task);
  auto report = launch(loop, task, options, [&followed] { followed->ended(); });
  followed->conclude(report);
  return report;
}

// Reports to the step: in the pod's termination message or, for a rank, in a file that the launcher fetches.
void leave(const PodReport& report, const ExecOptions& options) {
  const bool rank = options.role == Role::rank;
  if (rank && !report.primary) return;
  if (rank)
    leave_report(report, options.scratch);
  else
    write_termination_message(report, options.termination_log);
}

// Kubernetes gives the program what is in the Secret. Before anything reads the environment.
void clean_credentials() {
  for (const auto* name : objectstore::credential_variables)
    if (const auto* value = std::getenv(name); value != nullptr && objectstore::credential(value) != value)
      ::setenv(name, std::string(objectstore::credential(value)).c_str(), 1);
}

}  // namespace

int exec(const plan::Task& task, const ExecOptions& options) {
  clean_credentials();
  process::become_subreaper();
  // Permanently: a signal that arrives between two handlers waits for the second; and a pod's first process would lose a signal that it does not
  // handle.
  const auto stops = process::stop_signals();
  ::sigprocmask(SIG_BLOCK, &stops, nullptr);
  const auto report = options.role == Role::launcher ? launch_in_pod(task, options) : work_in_pod(task, options);
  if (!report.message.empty()) log(report.message);
  leave(report, options);
  await_told();
  return report.exit_code;
}

}  // namespace trainstep::agent
