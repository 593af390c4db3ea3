// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/connection.h"
#include "cli/one_job.h"
#include "cli/print.h"
#include "cluster/jobs.h"
#include "cluster/pod_index.h"
#include "cluster/rules.h"
#include "kube/log_stream.h"
#include "kube/watch.h"
#include "log/back_pressure.h"
#include "log/log.h"

namespace trainstep::cli {
namespace {

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
        m_job_uid(text_of(&job.object, {"metadata", "uid"})),
        m_job_created(text_of(&job.object, {"metadata", "creationTimestamp"})) {
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
      if (const auto found = m_streams.find(text_of(&item, {"metadata", "uid"})); found != m_streams.end()) found->second->abandon();
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
    return Error{ErrorKind::not_found, fmt::format("{} has no pod for {}", job_name, m_wanted.empty() ? "its primary replica" : m_wanted)};
  }

 private:
  // A stream cannot distinguish a lost connection from the end of the log: the status of the pod can.
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
      m_log.write(m_connection.loop.now(), log::Level::warning, what);
    };
    sink.waits = [this, name = pod.name](const std::string& what) {
      m_log.write(m_connection.loop.now(), log::Level::warning, fmt::format("log of {}: {}", name, what));
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

}  // namespace

int run_logs(const JobsCommand& command) { return exit_code_of(logs(command)); }

}  // namespace trainstep::cli
