// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/poll_loop.h"
#include "cli/app.h"
#include "cli/cluster_connection.h"
#include "cli/finish_step.h"
#include "cli/network.h"
#include "cli/run_command.h"
#include "cluster/data.h"
#include "cluster/session.h"
#include "job_types/job_type.h"
#include "kube/token_source.h"
#include "log/back_pressure.h"
#include "process/child.h"
#include "process/limits.h"
#include "process/memory.h"
#include "process/signals.h"
#include "step/held_folders.h"
#include "step/identity.h"
#include "step/sources.h"
#include "step/targets.h"

namespace trainstep::cli {
namespace {

// By then the job is running or waiting: what was needed to start is not needed any more.
constexpr Duration after_the_start{5'000};

class ClusterRun {
 public:
  // `notices`: logged at the start.
  ClusterRun(const StepCommand& command, step::Inputs inputs, std::vector<std::string> notices, ClusterConnection place,
             std::unique_ptr<Recorder> recorder)
      : m_inputs(std::move(inputs)),
        m_learned(m_inputs),
        m_folders(m_inputs),
        m_termination_log(command.termination_log),
        m_notices(std::move(notices)),
        m_listeners(m_loop, command.log_options, std::move(recorder)),
        m_network(m_loop, m_listeners.own_log(), place.credentials.server.origin()),
        m_credentials(std::make_shared<kube::Credentials>(std::move(place.credentials))),
        m_session(m_loop, m_network.transport(), m_credentials, options(place), listeners()),
        m_reader(m_loop, m_listeners.own_log(), [this](Pressure pressure) { m_session.hold_output(pressure); }) {}

  int operator()() {
    const auto which = process::ending_signals();
    const process::Signals signals(m_loop, which, [this](int signal) {
      if (m_over) return m_reader.hurry();
      m_credentials->token->hurry();
      m_session.request_stop(signal);
    });
    for (const auto& notice : m_notices) m_listeners.console().warn(m_loop.now(), notice);
    int code = 0;
    m_session.begin([&](cluster::Session::Done done) {
      m_end = std::move(done);
      finish_step(m_loop, m_listeners, m_inputs, m_end.plan, m_end.outcome, to_pipeline(), [this, &code] {
        code = result::exit_code(m_end.outcome.verdict);
        conclude();
      });
    });
    m_loop.after(after_the_start, process::give_back_memory);
    m_loop.run();
    process::ignore_signals(which);
    return code;
  }

 private:
  std::vector<run::Listener*> listeners() {
    auto listeners = m_listeners.all();
    listeners.push_back(&m_network);
    listeners.push_back(&m_learned);
    return listeners;
  }

  void conclude() {
    m_session.conclude(m_end.outcome.verdict, [this](const std::string& problem) {
      if (!problem.empty()) m_listeners.console().warn(m_loop.now(), problem);
      m_listeners.console().finish();
      m_over = true;
      m_reader.finish(reader_timeout(m_end.outcome.verdict), [this] { m_loop.stop(); });
    });
  }

  ToPipeline to_pipeline() {
    return {[this](const std::string& uri, std::string page, std::function<void(Result<void>)> done) {
              m_session.publish(uri, std::move(page), std::move(done));
            },
            m_termination_log,
            m_end.contents,
            [this] { return m_session.commit(); },
            0,
            &m_folders};
  }

  cluster::SessionOptions options(const ClusterConnection& place) {
    cluster::SessionOptions options;
    options.name_space = place.name_space;
    options.pod = place.pod;
    options.run_id = m_inputs.request.run_id;
    options.where = place.description;
    options.seed = random_seed();
    options.wants_stores = cluster::has_addresses(m_inputs.request);
    options.as_train_model_job = m_inputs.request.as_train_model_job;
    options.configuration_secrets = m_inputs.request.cluster_configuration_secrets;
    for (auto& [name, value] : process::own_environment()) options.environment.emplace(name, value);
    options.make_plan = [this](const cluster::Facts& facts, const std::string& name_space) { return make_plan(facts, name_space); };
    return options;
  }

  // A new run has one id, however many plans are made until it is known where its job is to be.
  Result<plan::Plan> make_plan(const cluster::Facts& facts, const std::string& name_space) {
    auto request = m_inputs.request;
    if (!m_new_run_id.empty()) request.run_id = m_new_run_id;
    ASSIGN(auto plan, plan_in_cluster(std::move(request), facts, name_space));
    plan.fresh_run = plan.fresh_run || !m_new_run_id.empty();
    if (plan.fresh_run) m_new_run_id = plan.run_id;
    return plan;
  }

  step::Inputs m_inputs;
  std::string m_new_run_id;
  LearnedSecrets m_learned;
  step::HeldFolders m_folders;
  std::string m_termination_log;
  std::vector<std::string> m_notices;
  PollLoop m_loop;
  Listeners m_listeners;
  Network m_network;
  std::shared_ptr<kube::Credentials> m_credentials;
  cluster::Session m_session;
  cluster::Session::Done m_end;
  log::BackPressure m_reader;
  bool m_over = false;  // only the rest has to be read
};

// Each log that is shown needs a connection, and one more must be available for a cancel.
Result<void> allow_log_files(const plan::Plan& plan) {
  constexpr std::size_t own = 64;
  const auto& names = plan.options.logs;
  if (names.empty()) return {};
  const bool all = std::ranges::find(names, "all") != names.end();
  std::size_t logs = all ? 0 : names.size();
  for (const auto& replicas : job_types::find(plan.job_type).replicas(plan)) logs += all ? static_cast<std::size_t>(replicas.count) : 0;
  const auto allowed = process::allow_open_files(logs + own);
  if (allowed >= logs + own) return {};
  return input_error(fmt::format(
      "job_options.logs: following these logs requires {} open files, the limit is {}; raise it (ulimit -Hn), or show the logs of fewer replicas",
      logs + own, allowed));
}

}  // namespace

Result<plan::Plan> plan_in_cluster(plan::Request request, const cluster::Facts& facts, const std::string& name_space) {
  const auto& place = request.identity.empty() && facts.workflow ? facts.workflow->uid : request.identity;
  request.identity = step::identity(place, facts.node_name);
  request.name_space = name_space;
  ASSIGN(auto plan, plan::make_plan(request, job_types::traits()));
  TRY(job_types::check_options(plan));
  return plan;
}

Result<void> check_step(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan) {
  TRY(step::check_sources(inputs.request.inputs));
  TRY(step::check_model_place(inputs));
  TRY(step::check_parameters(inputs, plan));
  TRY(step::check_outputs(inputs, command.record, command.exit_code_file, command.flags));
  return allow_log_files(plan);
}

int run_in_cluster(const StepCommand& command, const step::Inputs& inputs, const plan::Plan& plan) {
  if (auto checked = check_step(command, inputs, plan); !checked) return fail(command, checked.error());
  auto place = find_cluster(command.context, inputs.request.name_space);
  if (!place) return fail(command, place.error());
  auto recorder = recorder_for(command, inputs);
  if (!recorder) return fail(command, recorder.error());
  return ClusterRun(command, inputs, notices_of(inputs, plan), std::move(*place), std::move(*recorder))();
}

}  // namespace trainstep::cli
