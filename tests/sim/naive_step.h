// The simplest step that can be right where nothing goes wrong: creates or adopts its job, asks now and then how it is, reads the log at the end.
// With its flags it breaks one promise or another, so that the world's own tests see that each is noticed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "job_types/job_type.h"
#include "plan/plan.h"
#include "sim/world.h"

namespace trainstep::sim {

struct Sins {
  bool lies = false;          // any end is a success
  bool forgets_name = false;  // each life makes a job of its own
  bool prints_twice = false;
  bool skips_a_line = false;
  bool leaves_job = false;       // gives up on whatever is pending, and leaves the job behind
  bool blames_another = false;   // names a wrong replica
  bool deletes_blindly = false;  // by name alone
  bool says_too_much = false;    // that the job is gone, before it is
};

class NaiveStep : public Step {
 public:
  NaiveStep(const Context& around, Sins sins) : m_around(around), m_sins(sins) {}

  void begin() override {
    plan::Request request;
    request.train_specification = R"({"image": "train:1", "command": ["train"]})";
    request.distribution_specification = m_around.scenario.distribution;
    request.job_options = m_around.scenario.options;
    request.identity = m_sins.forgets_name ? m_around.attempt : "same";
    request.name_space = m_around.name_space;
    m_plan = plan::make_plan(request, job_types::traits()).value();
    const auto& kind = job_types::find(m_plan.job_type);
    m_resource = kind.resources.front();
    if (m_plan.job_type == "MPI")
      m_resource = *std::find_if(kind.resources.begin(), kind.resources.end(), [this](const job_types::Resource& one) {
        return one.group_version.ends_with("v2beta1") == m_around.scenario.installed.mpi_v2beta1;
      });
    auto object = kind.render(m_plan, m_resource).value().json();
    if (m_around.scenario.workflow) {
      ask("GET", "/apis/argoproj.io/v1alpha1/namespaces/lab/workflows/wf", nullptr, [this, object](int, const std::string& body) mutable {
        object["metadata"]["ownerReferences"] = Json::array(
            {{{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", Json::parse(body).at("metadata").at("uid")}}});
        create(object);
      });
    } else {
      create(object);
    }
  }
  void signal(int /*number*/) override {
    if (m_around.scenario.step_script == StepScript::evicted) return exit(result::VerdictClass::interrupted);
    remove([this] { exit(result::VerdictClass::cancelled); });
  }

 private:
  void exit(result::VerdictClass verdict_class) {
    result::Verdict verdict;
    verdict.verdict_class = verdict_class;
    m_around.exit(verdict);
  }
  using Answered = std::function<void(int code, const std::string& body)>;

  void ask(const std::string& method, const std::string& path, const Json& body, Answered answered) {
    http::Request request;
    request.method = method;
    request.url.path = path.substr(0, path.find('?'));
    if (const auto at = path.find('?'); at != std::string::npos) {
      const auto equals = path.find('=', at);
      request.url.query = {{path.substr(at + 1, equals - at - 1), path.substr(equals + 1)}};
    }
    request.headers = {{"Authorization", "Bearer " + m_around.credentials->token->token(m_around.loop.now()).value()},
                       {"Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json"}};
    if (!body.is_null()) request.body = body.dump();
    m_around.transport.start(std::move(request), {{}, {}, [answered = std::move(answered)](Result<http::Response> response) {
                                                    answered(response ? response->status : 0, response ? response->body : "");
                                                  }});
  }
  [[nodiscard]] std::string collection() const {
    return "/apis/" + std::string(m_resource.group_version) + "/namespaces/lab/" + std::string(m_resource.plural);
  }
  [[nodiscard]] std::string path() const { return collection() + "/" + m_plan.job_name; }

  void create(const Json& object) {
    ask("POST", collection(), object, [this](int code, const std::string& body) {
      if (code == 201 || code == 409) return poll();
      m_around.info(body);
      exit(code == 403 ? result::VerdictClass::input : result::VerdictClass::system);
    });
  }
  void poll() {
    ask("GET", path(), nullptr, [this](int code, const std::string& body) {
      if (code == 404) return exit(result::VerdictClass::system);
      using enum job_types::Judgement::State;
      const auto job = Json::parse(body);
      m_uid = text_at(job, {"metadata", "uid"});
      const auto state = job_types::find(m_plan.job_type).judge(job).state;
      if (state == succeeded || state == failed) return finish(state == succeeded || m_sins.lies);
      if (m_sins.leaves_job) return exit(result::VerdictClass::system);
      m_pause = std::min(Duration{300'000}, m_pause + m_pause / 8);
      m_around.loop.after(m_pause, [this] { poll(); });
    });
  }
  void finish(bool good) {
    ask("GET", "/api/v1/namespaces/lab/pods", nullptr, [this, good](int, const std::string& body) {
      result::Verdict verdict;
      verdict.verdict_class = good ? result::VerdictClass::succeeded : result::VerdictClass::user;
      std::string primary, first_end = "~";
      const auto list = Json::parse(body);
      for (const auto& pod : list.at("items")) {
        const auto replica = replica_of(pod);
        const auto* statuses = dig(pod, {"status", "containerStatuses"});
        if (statuses == nullptr) continue;
        if (replica == m_around.scenario.primary) primary = text_at(pod, {"metadata", "name"});
        const auto code = number_at((*statuses)[0], {"state", "terminated", "exitCode"});
        const std::string end(text_at((*statuses)[0], {"state", "terminated", "finishedAt"}));
        if (code == 0 || end >= first_end || good) continue;
        first_end = end;
        verdict.first_failure.emplace();
        verdict.first_failure->replica = m_sins.blames_another ? "somebody" : replica;
        verdict.first_failure->exit_code = static_cast<int>(code);
      }
      ask("GET", "/api/v1/namespaces/lab/pods/" + primary + "/log", nullptr, [this, verdict](int code, const std::string& log) {
        const auto lines = log.substr(m_sins.skips_a_line ? log.find('\n') + 1 : 0);
        if (code == 200) m_around.output(m_around.scenario.primary, lines);
        if (m_sins.prints_twice) m_around.output(m_around.scenario.primary, lines);
        conclude(verdict);
      });
    });
  }
  void conclude(const result::Verdict& verdict) {
    if (!m_around.scenario.workflow) return remove([this, verdict] { m_around.exit(verdict); });
    ask("PATCH", path(), {{"metadata", {{"annotations", {{"trainstep.dev/outcome", result::name(verdict.verdict_class)}}}}}},
        [this, verdict](int, const std::string&) { m_around.exit(verdict); });
  }
  void remove(std::function<void()> done) {
    if (m_sins.says_too_much) m_around.info("the job is deleted");
    Json options = {{"propagationPolicy", "Foreground"}};
    if (!m_sins.deletes_blindly) options["preconditions"]["uid"] = m_uid;
    ask("DELETE", path(), options, [done = std::move(done)](int, const std::string&) { done(); });
  }

  const Context m_around;
  const Sins m_sins;
  plan::Plan m_plan;
  job_types::Resource m_resource;
  std::string m_uid;
  Duration m_pause{500};
};

}  // namespace trainstep::sim
