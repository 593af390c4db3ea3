// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/connection.h"
#include "cli/hand_over.h"
#include "cli/one_job.h"
#include "cli/print.h"
#include "cluster/attach.h"
#include "cluster/jobs.h"
#include "cluster/ownership.h"
#include "cluster/pod_index.h"
#include "cluster/rules.h"
#include "data/secrets.h"
#include "job_types/conditions.h"
#include "kube/log_stream.h"
#include "kube/watch.h"
#include "log/back_pressure.h"
#include "process/child.h"
#include "process/signals.h"
#include "step/held_folders.h"
#include "step/secrets.h"
#include "step/targets.h"

namespace trainstep::cli {
namespace {

std::string_view state_of(const cluster::Submitted& job, const plan::Plan& plan) {
  using enum job_types::Judgement::State;
  if (!text(job.object, "/metadata/deletionTimestamp").empty()) return "deleting";
  const auto judged = job_types::find(plan.job_type).judge(job.object);
  if (judged.reason == job_types::contradicted) return "unclear";  // its status reports both ends
  switch (judged.state) {
    case pending:
      return "pending";
    case suspended:
      return "suspended";
    case running:
      return "running";
    case restarting:
      return "restarting";
    case succeeded:
      return cluster::outcome_of(job.object).value_or(result::VerdictClass::succeeded) == result::VerdictClass::succeeded ? "succeeded" : "failed";
    case failed:
      return "failed";
    case unknown:
      break;
  }
  return "created";
}

std::string or_none(std::string text) { return text.empty() ? "<none>" : text; }

Result<int> list(const JobsCommand& command) {
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(const auto found, find(*connection));
  auto table = fmt::format("{:<24} {:<10} {:<40} {:<11} {}\n", "RUN", "KIND", "JOB", "STATE", "SINCE");
  for (const auto& job : found.jobs) {
    ASSIGN(const auto plan, cluster::plan_of(job));
    table += printable(fmt::format("{:<24} {:<10} {:<40} {:<11} {}", or_none(plan.run_id), plan.job_type, plan.job_name, state_of(job, plan),
                                   or_none(text(job.object, "/metadata/creationTimestamp")))) +
             '\n';
  }
  if (!found.hidden.empty()) complain(found.what_is_hidden());
  return print(table);
}

Result<step::Inputs> wanted_outputs(const JobsCommand& command) {
  step::Inputs inputs;
  std::map<std::string, std::string> environment;
  for (auto& [name, value] : process::own_environment()) environment.emplace(name, value);
  inputs.secrets = step::secrets_of(environment, {});
  for (const auto& [name, path] : {std::pair("metrics", &command.metrics), std::pair("report", &command.report)})
    if (!path->empty()) inputs.targets.push_back({.name = name, .path = *path, .uri = {}, .type = {}});
  TRY(step::check_outputs(inputs, "", command.exit_code_file));
  return inputs;
}

Result<int> attach(const JobsCommand& command) {
  ASSIGN(auto outputs, wanted_outputs(command));
  const step::HeldFolders folders(outputs);
  ToPipeline pipeline;
  pipeline.folders = &folders;
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(auto job, find_one(*connection, command.run));
  ASSIGN(auto plan, cluster::plan_of(job));
  auto metrics = cluster::metrics_of(job);
  if (metrics) plan.options.metrics = std::move(*metrics);
  collect_secrets_of_containers(job.object, outputs.secrets);
  auto log_options = command.log_options;
  log_options.secrets = outputs.secrets;
  auto& loop = connection->loop;
  Listeners listeners(loop, std::move(log_options), nullptr);
  connection->tell = [&](const std::string& text) { listeners.console().warn(loop.now(), text); };
  if (!metrics) connection->tell(fmt::format("{}: {}; it is ignored", shown_name(job), metrics.error().message));
  int code = result::exit_code({result::VerdictClass::interrupted, "", std::nullopt, true, SIGTERM});
  // Detaching does not affect the job, which belongs to its step.
  std::optional<log::BackPressure> reader;
  bool over = false;
  const auto finish = [&](log::ReaderTimeout timeout) {
    listeners.console().finish();
    over = true;
    reader->finish(timeout, [&loop] { loop.stop(); });
  };
  const process::Signals signals(loop, [&](int) {
    if (over) return reader->hurry();
    listeners.console().say(loop.now(), "detached; the job keeps running");
    finish({Duration(2'000), Duration(10'000)});
  });
  cluster::Attachment attachment(loop, connection->transport, connection->credentials,
                                 {connection->name_space, connection->description, random_seed()}, plan, std::move(job), listeners.all());
  reader.emplace(loop, listeners.own_log(), [&attachment](Pressure pressure) { attachment.hold_output(pressure); });
  attachment.begin([&](cluster::Session::Done done) {
    if (over) return;
    hand_over(loop, listeners, outputs, done.plan, done.outcome, pipeline, [&] {
      code = result::exit_code(done.outcome.verdict);
      finish(reader_timeout(done.outcome.verdict));  // the step cleans up
    });
  });
  loop.run();
  return code;
}

// Reads the logs of all pods of a replica to their ends.
class LogReader {
 public:
  LogReader(Connection& connection, const JobsCommand& command, const cluster::Submitted& job, const plan::Plan& plan)
      : m_connection(connection),
        m_log(STDOUT_FILENO, command.log_options, connection.loop.now()),
        m_reader(connection.loop, m_log, [this](Pressure pressure) { hold(pressure != Pressure::none); }),
        m_wanted(command.replica),
        m_rules(cluster::rules_of(plan, job.object)),
        m_index(job_types::find(plan.job_type), job.resource, plan.job_name, job_types::find(plan.job_type).replicas(plan)),
        m_job_uid(text(job.object, "/metadata/uid")),
        m_job_created(text(job.object, "/metadata/creationTimestamp")) {
    kube::WatchOptions pods;
    pods.path = {"v1", "pods", connection.name_space, "", ""};
    pods.label_selector = job_types::find(plan.job_type).pods(plan.job_name, job.resource, "", -1);
    kube::Watch::Sink sink;
    sink.synced = [this](const std::vector<Json>& items) {
      for (const auto& item : items) look_at(item);
      if (m_streams.empty()) m_connection.loop.stop();
    };
    sink.changed = [this](const Json& item) { look_at(item); };
    sink.deleted = [this](const Json& item) {
      look_at(item);
      if (const auto found = m_streams.find(text(item, "/metadata/uid")); found != m_streams.end()) found->second->abandon();
    };
    sink.failed = [this](kube::ApiError problem) {
      m_problem = std::move(problem.error);
      m_connection.loop.stop();
    };
    connection.client.on_trouble([this](const std::string& reason) { m_trouble = reason; });
    m_watch = std::make_unique<kube::Watch>(connection.client, std::move(pods), std::move(sink));
    m_silence = connection.loop.timer(jobs_timeout, [this] { look_at_silence(); });
  }

  // Errors: not_found (no such pod), or a failed read.
  Result<void> read(const std::string& job_name) {
    m_connection.loop.run();
    m_log.writer().finish(for_ever);
    if (m_problem) return std::move(*m_problem);
    if (m_lost) return Error{ErrorKind::unavailable, "the log is incomplete"};
    if (!m_streams.empty()) return {};
    return Error{ErrorKind::not_found, fmt::format("{} has no pod of {}", job_name, m_wanted.empty() ? "its primary replica" : m_wanted)};
  }

 private:
  // A stream cannot distinguish a lost connection from the end of the log: the pod tells.
  void look_at(const Json& object) {
    const auto member = m_index.member_of(object, m_job_uid, m_job_created);
    if (!member) return;
    const auto& known = m_rules.members.at(*member);
    if (m_wanted.empty() ? !known.primary : known.name != m_wanted) return;
    const auto pod = job_types::read_pod(object);
    auto& stream = m_streams[pod.uid];
    if (!stream) stream = follow(pod, known);
    stream->hold(m_held);
    if (pod.over()) stream->ended();
  }

  // A response may not come from an API server: the page of a gateway would repeat for ever.
  void look_at_silence() {
    if (m_watch->synced()) return;
    m_problem = Error{ErrorKind::unavailable, fmt::format("list pods: no answer from an API server for {}{}{}", describe(jobs_timeout),
                                                          m_trouble.empty() ? "" : ": ", m_trouble)};
    m_connection.loop.stop();
  }

  void hold(bool held) {
    m_held = held;
    for (auto& [uid, stream] : m_streams) stream->hold(held);
  }

  std::unique_ptr<kube::LogStream> follow(const job_types::PodView& pod, const follow::Member& member) {
    kube::LogStream::Sink sink;
    sink.lines = [this, name = member.name](std::string_view lines) {
      m_log.output(m_connection.loop.now(), name, lines);
      m_log.commit();
    };
    sink.lost = [this](const std::string& what) {
      m_lost = true;
      m_log.say(m_connection.loop.now(), log::Level::warning, what);
    };
    sink.complete = [this] {
      if (--m_open == 0) m_connection.loop.stop();
    };
    ++m_open;
    return std::make_unique<kube::LogStream>(m_connection.client, kube::LogSource{m_connection.name_space, pod.name, member.container, false},
                                             std::move(sink));
  }

  Connection& m_connection;
  log::Log m_log;
  log::BackPressure m_reader;
  bool m_held = false;
  std::string m_wanted;
  follow::Rules m_rules;
  cluster::PodIndex m_index;
  std::string m_job_uid, m_job_created;
  std::map<std::string, std::unique_ptr<kube::LogStream>> m_streams;  // by the pod's uid
  std::unique_ptr<kube::Watch> m_watch;
  std::optional<Error> m_problem;
  std::string m_trouble;  // of the server, as reported last
  Timer m_silence;
  int m_open = 0;
  bool m_lost = false;  // lines of it
};

Result<int> logs(const JobsCommand& command) {
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(const auto job, find_one(*connection, command.run));
  ASSIGN(const auto plan, cluster::plan_of(job));
  TRY(LogReader(*connection, command, job, plan).read(shown_name(job)));
  return 0;
}

int finish(Result<int> code) { return code ? *code : report(code.error()); }

}  // namespace

int run_list(const JobsCommand& command) { return finish(list(command)); }
int run_attach(const JobsCommand& command) { return finish(attach(command)); }
int run_logs(const JobsCommand& command) { return finish(logs(command)); }

}  // namespace trainstep::cli
