// SPDX-License-Identifier: Apache-2.0
#include "cluster/session.h"

#include <fmt/format.h>

#include "cluster/data.h"
#include "cluster/remote.h"
#include "cluster/rules.h"

namespace trainstep::cluster {
namespace {

// An API server that does not answer before there is a job is waited for so long.
constexpr Duration patience{300'000};

}  // namespace

Session::Session(Loop& loop, http::Transport& transport, std::shared_ptr<kube::Credentials> credentials, SessionOptions options,
                 std::vector<run::Listener*> listeners)
    : m_loop(loop),
      m_transport(transport),
      m_home(loop, transport, std::move(credentials), options.seed),
      m_options(std::move(options)),
      m_listeners(std::move(listeners)),
      m_job_name_space(m_options.name_space) {}

Session::~Session() { *m_alive = false; }

void Session::say(const std::string& text) {
  for (auto* listener : m_listeners) listener->say(m_loop.now(), text);
}

void Session::begin(std::function<void(Done)> done) {
  m_done = std::move(done);
  m_began = m_loop.now();
  const auto know_it = [this, alive = m_alive](Result<Facts> facts) {
    if (*alive) know(std::move(facts));
  };
  if (!m_options.pod.empty()) return find_facts(m_home, m_options.name_space, m_options.pod, know_it);
  auto facts = m_options.facts.value_or(Facts{});
  facts.name_space = m_options.name_space;
  m_loop.post([know_it, facts]() mutable { know_it(std::move(facts)); });
}

void Session::know(Result<Facts> facts) {
  if (m_over) return;
  if (!facts) return finish_early(result::from_error(facts.error()));
  m_facts = std::move(*facts);
  for (const auto& notice : m_facts.notices) say(notice);
  if (m_options.wants_stores) return look_for_stores();
  connect();
}

void Session::look_for_stores() {
  find_stores(m_home, m_options.name_space, [this, alive = m_alive](Result<std::string> stores) {
    if (!*alive || m_over) return;
    if (!stores) return finish_early(result::from_error(stores.error()));
    m_facts.stores = std::move(*stores);
    connect();
  });
}

void Session::connect() {
  m_job_facts = m_facts;
  if (m_options.remote_secret.empty()) return plan_and_run();
  m_job_facts.workflow.reset();
  m_job_facts.mounts.clear();
  const kube::Path secret{"v1", "secrets", m_options.name_space, m_options.remote_secret, ""};
  m_home.get(secret, {}, {patience, false}, [this](kube::Answer answer) {
    if (m_over) return;
    if (!answer) return finish_early(result::from_error(in_context("cluster_configuration_secret", std::move(answer.error().error))));
    auto credentials = remote_credentials(*answer);
    if (!credentials) return finish_early(result::from_error(in_context("cluster_configuration_secret", std::move(credentials.error()))));
    m_job_name_space = credentials->name_space;
    m_options.where = credentials->description;
    m_remote = std::make_unique<kube::Client>(m_loop, m_transport, std::make_shared<kube::Credentials>(std::move(*credentials)), m_options.seed + 1);
    plan_and_run();
  });
}

void Session::plan_and_run() {
  auto plan = m_options.make_plan(m_facts, m_job_name_space);
  if (!plan) return finish_early(result::from_error(plan.error()));
  if (!m_options.existing) {
    if (auto routed = route_data(*plan, m_job_facts); !routed) return finish_early(result::from_error(routed.error()));
    plan->data.task.attempt = attempt();
  }
  m_plan = std::make_unique<plan::Plan>(std::move(*plan));
  run();
}

std::string Session::attempt() const { return fmt::format("{:016x}", m_options.seed); }

void Session::run() {
  say(fmt::format("version {} · {} on Kubernetes ({}) · run {}", TRAINSTEP_VERSION, m_plan->kind, m_options.where, m_plan->run_id));
  m_backend = std::make_unique<ClusterBackend>(m_remote ? *m_remote : m_home, *m_plan, m_job_facts, m_job_name_space, attempt(),
                                               std::move(m_options.existing));
  m_runner =
      std::make_unique<run::Runner>(m_loop, *m_backend, m_listeners, std::make_unique<follow::JobFollower>(rules_of(*m_plan), job_rules_of(*m_plan)));
  m_runner->begin([this](run::Outcome outcome) {
    m_over = true;
    m_own_life.reset();
    m_done({std::move(outcome), m_plan.get()});
  });
  m_own_life = std::make_unique<OwnLife>(m_home, m_facts, [this](const std::string& what) { m_runner->tell(follow::CancelSeen{what}); });
}

void Session::request_stop(int signal) {
  if (m_over) return;
  if (!m_runner) return finish_early({result::VerdictClass::cancelled, "before there was a job", std::nullopt, false, signal});
  if (!m_own_life) return m_runner->request_stop(signal);
  m_own_life->ask_why([this, signal](std::optional<std::string> eviction) {
    const bool retried = m_facts.retried && (!m_facts.retried_until || m_loop.now() < *m_facts.retried_until);
    if (eviction) m_runner->tell(follow::EvictionSeen{std::move(*eviction), retried});
    m_runner->request_stop(signal);
  });
}

void Session::finish_early(result::Verdict verdict) {
  m_over = true;
  run::Outcome outcome;
  outcome.verdict = std::move(verdict);
  outcome.started = m_began;
  outcome.ended = m_loop.now();
  m_loop.post([this, alive = m_alive, outcome = std::move(outcome)]() mutable {
    if (*alive) m_done({std::move(outcome), m_plan.get()});
  });
}

void Session::conclude(const result::Verdict& verdict, std::function<void(std::string)> done) {
  if (m_backend) return m_backend->conclude(verdict, std::move(done));
  m_loop.post([done = std::move(done)] { done(""); });
}

}  // namespace trainstep::cluster
