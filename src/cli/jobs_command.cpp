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
#include "cli/print.h"
#include "cluster/attach.h"
#include "cluster/jobs.h"
#include "cluster/pod_index.h"
#include "cluster/removal.h"
#include "cluster/rules.h"
#include "kube/log_stream.h"
#include "kube/watch.h"
#include "log/back_pressure.h"
#include "process/child.h"
#include "process/signals.h"
#include "step/secrets.h"
#include "step/targets.h"

namespace trainstep::cli {
namespace {

constexpr Duration patience{30'000};
constexpr std::chrono::hours for_ever{24 * 365};  // who pages through a log may think; there is nothing to be stopped

std::string text(const Json& object, const char* pointer) {
  const Json::json_pointer place(pointer);
  return object.contains(place) && object.at(place).is_string() ? object.at(place).get<std::string>() : std::string();
}

std::string shown_name(const cluster::Submitted& job) { return fmt::format("{}/{}", job.resource.plural, text(job.object, "/metadata/name")); }

std::string_view state_of(const cluster::Submitted& job, const plan::Plan& plan) {
  using enum kinds::Judgement::State;
  if (!text(job.object, "/metadata/deletionTimestamp").empty()) return "deleting";
  switch (kinds::find(plan.kind).judge(job.object).state) {
    case pending:
      return "pending";
    case suspended:
      return "suspended";
    case running:
      return "running";
    case restarting:
      return "restarting";
    case succeeded:
      return "succeeded";
    case failed:
      return "failed";
    case unknown:
      break;
  }
  return "created";
}

Result<cluster::Found> find(Connection& connection) {
  Result<cluster::Found> found = internal_error("no answer");
  cluster::find_jobs(connection.client, connection.name_space, [&](Result<cluster::Found> result) {
    found = std::move(result);
    connection.loop.stop();
  });
  connection.loop.run();
  return found;
}

// Exactly one.
Result<cluster::Submitted> find_one(Connection& connection, const std::string& run) {
  ASSIGN(auto found, find(connection));
  return cluster::choose(std::move(found), run, connection.name_space);
}

Result<std::unique_ptr<Connection>> connect(const JobsCommand& command, Access access) {
  ASSIGN(auto place, find_cluster(command.context, command.name_space));
  return std::make_unique<Connection>(std::move(place), access);
}

std::string or_none(std::string text) { return text.empty() ? "<none>" : text; }

Result<int> list(const JobsCommand& command) {
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(const auto found, find(*connection));
  auto table = fmt::format("{:<24} {:<10} {:<40} {:<11} {}\n", "RUN", "KIND", "JOB", "STATE", "SINCE");
  for (const auto& job : found.jobs) {
    ASSIGN(const auto plan, cluster::plan_of(job));
    table += printable(fmt::format("{:<24} {:<10} {:<40} {:<11} {}", or_none(plan.run_id), plan.kind, plan.job_name, state_of(job, plan),
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
  TRY(step::check_targets(inputs.targets));
  return inputs;
}

Result<int> attach(const JobsCommand& command) {
  ASSIGN(const auto outputs, wanted_outputs(command));
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(auto job, find_one(*connection, command.run));
  ASSIGN(const auto plan, cluster::plan_of(job));
  auto& loop = connection->loop;
  Listeners listeners(loop, command.log_options, nullptr);
  connection->tell = [&](const std::string& text) { listeners.console().warn(loop.now(), text); };
  int code = result::exit_code({result::VerdictClass::interrupted, "", std::nullopt, true, SIGTERM});
  // Who looks on from a shell only looks away: the job is its step's.
  std::optional<log::BackPressure> reader;
  bool over = false;
  const auto finish = [&](log::Patience patience_with_him) {
    listeners.console().finish();
    over = true;
    reader->finish(patience_with_him, [&loop] { loop.stop(); });
  };
  const process::Signals signals(loop, [&](int) {
    if (over) return reader->hurry();
    listeners.console().say(loop.now(), "detached; the job runs on");
    finish({Duration(2'000), Duration(10'000)});
  });
  cluster::Attachment attachment(loop, connection->transport, connection->credentials,
                                 {connection->name_space, connection->description, random_seed()}, plan, std::move(job), listeners.all());
  reader.emplace(loop, listeners.own_log(), [&attachment](Pressure pressure) { attachment.hold_output(pressure); });
  attachment.begin([&](cluster::Session::Done done) {
    if (over) return;
    hand_over(loop, listeners, outputs, done.plan, done.outcome, {}, [&] {
      code = result::exit_code(done.outcome.verdict);
      finish(patience_with_reader(done.outcome.verdict));  // the clean-up is the step's
    });
  });
  loop.run();
  return code;
}

// The logs of the pods of one replica, each to its end.
class LogReader {
 public:
  LogReader(Connection& connection, const JobsCommand& command, const cluster::Submitted& job, const plan::Plan& plan)
      : m_connection(connection),
        m_log(STDOUT_FILENO, command.log_options, connection.loop.now()),
        m_reader(connection.loop, m_log, [this](Pressure pressure) { hold(pressure != Pressure::none); }),
        m_wanted(command.replica),
        m_rules(cluster::rules_of(plan, job.object)),
        m_index(kinds::find(plan.kind), job.resource, plan.job_name, kinds::find(plan.kind).replicas(plan)),
        m_job_uid(text(job.object, "/metadata/uid")),
        m_job_created(text(job.object, "/metadata/creationTimestamp")) {
    kube::WatchOptions pods;
    pods.path = {"v1", "pods", connection.name_space, "", ""};
    pods.label_selector = kinds::find(plan.kind).pods(plan.job_name, job.resource, "", -1);
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
    m_watch = std::make_unique<kube::Watch>(connection.client, std::move(pods), std::move(sink));
  }

  // Errors: not_found (no such pod), those of reading.
  Result<void> read(const std::string& job_name) {
    m_connection.loop.run();
    m_log.writer().finish(for_ever);
    if (m_problem) return std::move(*m_problem);
    if (!m_streams.empty()) return {};
    return Error{ErrorKind::not_found, fmt::format("{} has no pod of {}", job_name, m_wanted.empty() ? "its primary replica" : m_wanted)};
  }

 private:
  // A stream cannot tell a connection that was cut from the log's end: the pod does.
  void look_at(const Json& object) {
    const auto member = m_index.member_of(object, m_job_uid, m_job_created);
    if (!member) return;
    const auto& known = m_rules.members.at(*member);
    if (m_wanted.empty() ? !known.primary : known.name != m_wanted) return;
    const auto pod = kinds::read_pod(object);
    auto& stream = m_streams[pod.uid];
    if (!stream) stream = follow(pod, known);
    stream->hold(m_held);
    if (pod.over()) stream->ended();
  }

  void hold(bool held) {
    m_held = held;
    for (auto& [uid, stream] : m_streams) stream->hold(held);
  }

  std::unique_ptr<kube::LogStream> follow(const kinds::PodView& pod, const follow::Member& member) {
    kube::LogStream::Sink sink;
    sink.lines = [this, name = member.name](std::string_view lines) {
      m_log.output(m_connection.loop.now(), name, lines);
      m_log.commit();
    };
    sink.lost = [this](const std::string& what) { m_log.say(m_connection.loop.now(), log::Level::warning, what); };
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
  int m_open = 0;
};

Result<int> logs(const JobsCommand& command) {
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(const auto job, find_one(*connection, command.run));
  ASSIGN(const auto plan, cluster::plan_of(job));
  TRY(LogReader(*connection, command, job, plan).read(shown_name(job)));
  return 0;
}

// The job goes after its pods.
cluster::Removal::Outcome remove(Connection& connection, const cluster::Submitted& job, const std::string& uid) {
  const kube::Path path{std::string(job.resource.group_version), std::string(job.resource.plural), connection.name_space,
                        text(job.object, "/metadata/name"), ""};
  cluster::Removal::Order order{path, uid};
  order.patience = patience;
  order.silence = patience;
  order.to_the_end = true;
  cluster::Removal::Outcome ended;
  bool told = false;
  const auto failing = [&](const kube::ApiError& problem) {
    if (problem.status != 0 && !std::exchange(told, true)) connection.tell(problem.error.message + "; trying again");
  };
  const auto remains = [&](const Json& object) {
    connection.tell(
        fmt::format("{} is being deleted; waiting for {} (Ctrl-C ends only the waiting)", shown_name(job), cluster::what_remains(object)));
  };
  const cluster::Removal removal(connection.client, std::move(order), {failing, remains, [&](cluster::Removal::Outcome outcome) {
                                                                         ended = std::move(outcome);
                                                                         connection.loop.stop();
                                                                       }});
  connection.loop.run();
  return ended;
}

Result<int> stop(const JobsCommand& command) {
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::write));
  ASSIGN(const auto job, find_one(*connection, command.run));
  const auto uid = text(job.object, "/metadata/uid");
  if (uid.empty()) return internal_error(shown_name(job) + " has no uid: it is not deleted, as another one may have its name");
  auto ended = remove(*connection, job, uid);
  const bool gone = ended.end == cluster::Removal::End::gone;
  if (ended.end == cluster::Removal::End::failed) return std::move(ended.problem->error);
  if (!gone && ended.problem->error.kind != ErrorKind::denied)
    return in_context("the job is being deleted, but its end cannot be seen", std::move(ended.problem->error));
  return print(
      fmt::format("{} {}\n", shown_name(job), gone ? "and its pods are deleted" : "is being deleted; when its pods are gone may not be seen"));
}

int finish(Result<int> code) { return code ? *code : report(code.error()); }

}  // namespace

int run_list(const JobsCommand& command) { return finish(list(command)); }
int run_attach(const JobsCommand& command) { return finish(attach(command)); }
int run_logs(const JobsCommand& command) { return finish(logs(command)); }
int run_stop(const JobsCommand& command) { return finish(stop(command)); }

}  // namespace trainstep::cli
