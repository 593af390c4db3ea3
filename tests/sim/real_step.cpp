// SPDX-License-Identifier: Apache-2.0
#include "sim/real_step.h"

#include <utility>

#include "cluster/session.h"
#include "kinds/kind.h"
#include "plan/plan.h"

namespace trainstep::sim {
namespace {

class RealStep : public Step, run::Listener {
 public:
  explicit RealStep(const Surroundings& around) : m_around(around), m_session(around.loop, around.transport, around.credentials, options(), {this}) {}

  void begin() override {
    m_session.begin([this](const cluster::Session::Done& done) {
      const auto verdict = done.outcome.verdict;
      m_around.say(result::describe(verdict));
      m_session.conclude(verdict, [this, verdict](const std::string& problem) {
        if (!problem.empty()) m_around.say(problem);
        m_around.exit(verdict);
      });
    });
  }
  void signal(int number) override { m_session.request_stop(number); }

  void say(Time /*at*/, const std::string& text) override { m_around.say(text); }
  void output(Time /*at*/, const std::string& member, std::string_view lines) override { m_around.output(member, lines); }

 private:
  // What the inputs and the command line are otherwise.
  cluster::SessionOptions options() {
    cluster::SessionOptions options;
    options.name_space = m_around.name_space;
    options.pod = {m_around.pod, m_around.node_id};
    options.where = "simulated";
    options.seed = m_around.seed;
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
      return plan::make_plan(request, kinds::names());
    };
    return options;
  }

  const Surroundings m_around;
  cluster::Session m_session;
};

}  // namespace

std::unique_ptr<Step> real_step(const Surroundings& surroundings) { return std::make_unique<RealStep>(surroundings); }

}  // namespace trainstep::sim
