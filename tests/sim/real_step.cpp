// SPDX-License-Identifier: Apache-2.0
#include "sim/real_step.h"

#include <utility>

#include "cluster/attach.h"
#include "cluster/jobs.h"
#include "cluster/session.h"
#include "job_types/job_type.h"
#include "plan/plan.h"

namespace trainstep::sim {
namespace {

class RealStep : public Step, run::Listener {
 public:
  explicit RealStep(const Context& around) : m_around(around), m_session(around.loop, around.transport, around.credentials, options(), {this}) {}

  void begin() override {
    m_session.begin([this](const cluster::Session::Done& done) {
      const auto verdict = done.outcome.verdict;
      m_around.info(result::describe(verdict));
      m_session.conclude(verdict, [this, verdict](const std::string& problem) {
        if (!problem.empty()) m_around.info(problem);
        m_around.exit(verdict);
      });
    });
  }
  void signal(int number) override { m_session.request_stop(number); }

  void info(Time /*at*/, const std::string& text) override { m_around.info(text); }
  void output(Time /*at*/, const std::string& member, std::string_view lines) override { m_around.output(member, lines); }

 private:
  // What the inputs and the command line are otherwise.
  cluster::SessionOptions options() {
    cluster::SessionOptions options;
    options.name_space = m_around.name_space;
    options.pod = {m_around.pod, m_around.node_id};
    options.where = "simulated";
    options.seed = m_around.seed;
    options.configuration_secrets = m_around.scenario.clusters;
    options.make_plan = [this](const cluster::Facts& facts, const std::string& name_space) -> Result<plan::Plan> {
      plan::Request request;
      request.train_specification = R"({"image": "train:1", "command": ["train"]})";
      request.distribution_specification = m_around.scenario.distribution;
      request.job_options = m_around.scenario.options;
      request.name_space = name_space;
      if (facts.workflow)
        request.identity = facts.workflow->uid;
      else
        request.run_id = "same";
      return plan::make_plan(request, job_types::traits());
    };
    return options;
  }

  const Context m_around;
  cluster::Session m_session;
};

class RealVisitor : public Step, run::Listener {
 public:
  explicit RealVisitor(const Context& around) : m_around(around), m_client(around.loop, around.transport, around.credentials, around.seed) {}

  void begin() override {
    cluster::find_jobs(m_client, m_around.name_space, [this](Result<cluster::Found> found) {
      if (!found || found->jobs.empty()) return m_around.exit({result::VerdictClass::interrupted, "no job is seen", std::nullopt, false, 0});
      const auto run = found->jobs.front().object.at("metadata").at("labels").at("trainstep.dev/run").get<std::string>();
      auto job = cluster::choose(std::move(*found), run, m_around.name_space);
      if (!job) return m_around.exit(result::from_error(job.error()));
      look_on(std::move(*job));
    });
  }
  void signal(int /*number*/) override {}
  void info(Time /*at*/, const std::string& text) override { m_around.info(text); }
  void output(Time /*at*/, const std::string& member, std::string_view lines) override { m_around.output(member, lines); }

 private:
  void look_on(cluster::Submitted job) {
    const auto plan = cluster::plan_of(job);
    m_attachment = std::make_unique<cluster::Attachment>(m_around.loop, m_around.transport, m_around.credentials,
                                                         cluster::Place{m_around.name_space, "simulated", m_around.seed}, *plan, std::move(job),
                                                         std::vector<run::Listener*>{this});
    m_attachment->begin([this](const cluster::Session::Done& done) { m_around.exit(done.outcome.verdict); });
  }

  const Context m_around;
  kube::Client m_client;
  std::unique_ptr<cluster::Attachment> m_attachment;
};

}  // namespace

std::unique_ptr<Step> real_visitor(const Context& surroundings) { return std::make_unique<RealVisitor>(surroundings); }

std::unique_ptr<Step> real_step(const Context& surroundings) { return std::make_unique<RealStep>(surroundings); }

}  // namespace trainstep::sim
