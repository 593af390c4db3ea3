// The step's side: its lives, its deaths, and the end of the world.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>

#include "sim/oracle.h"
#include "sim/world.h"

namespace trainstep::sim {
namespace {

class WorldToken : public kube::TokenSource {
 public:
  WorldToken(const World& world, bool kept) : m_world(world), m_kept(kept) {}
  Result<std::string> token(Time /*now*/) override {
    if (!m_kept || m_last.empty()) m_last = m_world.token();
    return m_last;
  }
  void refused() override { m_last.clear(); }

 private:
  const World& m_world;
  bool m_kept;
  std::string m_last;
};

}  // namespace

// Argo makes a new pod for each attempt; its node's name tells which. Under KFP v2, whose launcher dies at once, the step has less than a second.
void World::make_pod() {
  const auto number = m_lives.size() - 1;
  const bool launcher = m_scenario.death < Duration{1'000};
  const auto cut = m_scenario.own_pod == OwnPod::cut ? std::string(60, 'w') + "-" : std::string();
  Json metadata = {{"name", fmt::format("{}step-{}", cut, number)}, {"namespace", "lab"}};
  if (m_workflow) {
    metadata["labels"] = {{"workflows.argoproj.io/workflow", "wf"}, {"pipeline/runid", "run-1"}};
    metadata["annotations"] = {{"workflows.argoproj.io/node-name", fmt::format("wf(0).train({})", number)},
                               {"workflows.argoproj.io/node-id", fmt::format("wf-{}", number)}};
    auto owner = controller_reference(m_workflow);
    metadata["ownerReferences"] = Json::array({owner});
  } else {
    metadata["labels"] = {{"workflows.argoproj.io/workflow", "none"}};
  }
  // What Argo gives to each container: the template that the pod is made from.
  Json made_from = {{"name", "train"}};
  if (!m_scenario.retry_policy.empty()) made_from["retryStrategy"] = {{"retryPolicy", m_scenario.retry_policy}};
  const Json environment = Json::array({{{"name", "ARGO_TEMPLATE"}, {"value", made_from.dump()}}});
  Json command = {"/var/run/argo/argoexec", "emissary", "--"};
  command.push_back(launcher ? "/kfp-launcher/launch" : "/usr/local/bin/trainstep");
  const auto pod = m_cluster.store.create(*m_cluster.store.resource("v1", "pods"),
                                          {{"apiVersion", "v1"},
                                           {"kind", "Pod"},
                                           {"metadata", metadata},
                                           {"spec",
                                            {{"nodeName", "node-9"},
                                             {"terminationGracePeriodSeconds", 30},
                                             {"containers", {{{"name", "main"}, {"image", "step"}, {"command", command}, {"env", environment}}}}}},
                                           {"status", {{"phase", "Running"}}}});
  m_pod = {std::string(pod->name()), std::string(pod->uid())};
  if (m_scenario.own_pod == OwnPod::unreadable) m_cluster.server.deny("get pods/" + m_pod.name);
}

// The step's call by its number, in this life and in all.
Network::Hook World::called(int number, const http::Request& /*request*/) {
  const auto own = number - m_calls_before;
  if (m_lives.size() == 1 && own == m_scenario.act_at_call) m_loop.after(Duration{0}, [this] { act(); });
  if (m_lives.size() == 2 && own == m_scenario.cancel_next_at && m_workflow) m_loop.after(Duration{0}, [this] { cancel_run(); });
  if (m_scenario.kill_at == 0 || number != m_scenario.kill_at) return Network::Hook::go;
  return m_scenario.kill_after ? Network::Hook::die_after_effect : Network::Hook::die_before_send;
}

// What the scenario has in store for the step; once.
void World::act() {
  if (m_acted || m_lives.size() > 1) return;
  if (m_scenario.step_script == StepScript::cancelled) cancel_run();
  if (m_scenario.step_script == StepScript::evicted) evict_step();
  if (m_scenario.step_script == StepScript::stopped) stop_step();
  if (m_scenario.step_script == StepScript::outlived) lose_step();
}

bool World::lives(const JobRecord& job) const {
  const auto live = m_cluster.store.by_uid(job.uid);
  return live != nullptr && !live->deleting();
}

// Nothing is said to be gone that is there.
void World::heard_saying(std::string_view text) {
  m_trace.log("says", "{}", text);
  if (text.find("may still") != std::string_view::npos) m_lives.back().doubts = true;
  for (const auto* words : {"the job is deleted", "no job of this run", "before a job was created"})
    for (const auto& job : m_jobs)
      if (text.find(words) != std::string_view::npos && lives(job))
        m_violations.push_back(fmt::format("said of {}, which is there: {}", job.name, text));
}

// A cancelled step that says nothing of a job has none.
void World::ended(const result::Verdict& verdict) {
  m_trace.log("step", "ends: {}", result::describe(verdict));
  m_lives.back().verdict = verdict;
  m_exited = true;
  if (verdict.verdict_class == result::VerdictClass::interrupted && m_cancelled)
    m_violations.emplace_back("the run is cancelled, and the step leaves its job to the next attempt");
  if (verdict.verdict_class != result::VerdictClass::cancelled) return;
  // Where there is time to see why the signal came, and another attempt may follow, the job is kept, unless it is queued.
  const auto& s = m_scenario;
  const bool waits = std::ranges::any_of(m_jobs, &JobRecord::waits);
  const bool seen = s.calm && s.death > Duration{10'000} && s.own_pod != OwnPod::unreadable && s.keeping == Accident::none;
  if (s.step_script == StepScript::evicted && m_acted && !m_cancelled && m_lives.size() == 1 && seen && !waits && !s.retry_policy.empty())
    m_violations.emplace_back("the step's pod was evicted, and the step takes it for a cancel");
  if (m_lives.back().doubts) return;
  for (const auto& job : m_jobs)
    if (lives(job) && !job.succeeded && !job.failed) m_violations.push_back(fmt::format("cancelled without a word of {}, which is there", job.name));
}

std::shared_ptr<kube::Credentials> World::credentials(std::unique_ptr<kube::TokenSource> token) const {
  auto result = std::make_shared<kube::Credentials>();
  result->server.scheme = "https";
  result->server.host = "kubernetes.default.svc";
  result->endpoint = std::make_shared<http::Endpoint>();
  result->token = std::move(token);
  result->name_space = "lab";
  result->description = "in-cluster";
  return result;
}

void World::begin_life(const Factory& factory) {
  m_lives.push_back({.number = static_cast<int>(m_lives.size()), .lines = {}, .verdict = {}});
  m_trace.log("step", "life {} begins", m_lives.size() - 1);
  make_pod();
  m_network.revive();
  m_lives.back().network_life = m_network.life();
  m_calls_before = m_network.calls();
  m_network.on_call([this](int number, const http::Request& request) { return called(number, request); }, [this] { die(); });
  m_step_loop = std::make_unique<StepLoop>(m_loop, m_scenario.skew);
  // What a dead step says is not heard: after its death its functions may still run to their end.
  const auto alive = [this, life = m_lives.size() - 1] { return !m_dying && !m_exited && !m_lost && life == m_lives.size() - 1; };
  const bool first = m_lives.size() == 1, outlived = m_scenario.step_script == StepScript::outlived;
  if (first && outlived) make_twin();
  const Context surroundings{
      .scenario = m_scenario,
      .loop = *m_step_loop,
      .transport = first && outlived ? *m_twin->network : m_network,
      .credentials = credentials(std::make_unique<WorldToken>(*this, m_scenario.token_kept)),
      .name_space = "lab",
      .pod = m_workflow ? m_pod.name.substr(0, 63) : "",
      .node_id = m_workflow ? fmt::format("wf-{}", m_lives.size() - 1) : "",
      .attempt = fmt::format("attempt-{}", m_lives.size()),
      .seed = m_random.next(),
      .info =
          [this, alive](std::string_view text) {
            if (alive()) heard_saying(text);
          },
      .output =
          [this, alive](std::string_view member, std::string_view lines) {
            if (!alive()) return;
            for (std::size_t at = 0; at < lines.size();) {
              const auto end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
              m_trace.log("prints", "[{}] {}", member, lines.substr(at, end - at - 1));
              m_lives.back().lines.push_back({std::string(member), std::string(lines.substr(at, end - at))});
              at = end;
            }
          },
      .exit =
          [this, alive, first, outlived](const result::Verdict& verdict) {
            if (alive()) return ended(verdict);
            if (first && outlived) twin_ended(verdict);
          },
  };
  m_step = factory(surroundings);
  m_step->begin();
}

void World::die() {
  if (m_exited || m_dying || m_step_loop == nullptr) return;
  m_dying = true;
  m_step_loop->die();
  m_network.kill();
}

// Whether another life follows is the pipeline's decision.
void World::bury() {
  m_trace.log("step", "{}", m_dying ? "is dead" : "has ended");
  m_network.kill();
  m_calls_of.push_back(m_network.calls() - m_calls_before);
  m_ended = m_loop.now();
  const bool outlived = std::exchange(m_lost, false);
  if (outlived) outlive();
  m_step.reset();
  m_step_loop.reset();
  for (const auto& pod : m_cluster.training_pods()) m_pods_at_end.emplace(pod->uid());
  const auto& verdict = m_lives.back().verdict;
  const bool lost = !verdict || verdict->verdict_class == result::VerdictClass::interrupted ||
                    (m_scenario.step_script == StepScript::evicted && verdict->verdict_class == result::VerdictClass::cancelled);
  const bool evicted = m_scenario.step_script == StepScript::evicted && m_acted && m_lives.size() == 1;
  m_another = lost && !m_cancelled && m_scenario.step_script != StepScript::stopped && (!evicted || m_scenario.followed);
  m_dying = false;
  m_exited = false;
  if (const auto pod = m_cluster.store.by_uid(m_pod.uid); pod && !outlived) m_cluster.store.remove(pod);
  if (m_another) m_pods_at_end.clear();
}

void World::send_signal(int number) {
  if (m_step == nullptr || m_dying || m_exited) return;
  m_trace.log("pipeline", "signal {}", number);
  m_lives.back().signalled = true;
  m_step->signal(number);
}

// The kubelet's or Argo's SIGKILL, if this life still goes on by then.
void World::end_pod() {
  m_loop.after(m_scenario.death, [this, life = m_lives.size()] {
    if (life != m_lives.size()) return;
    const bool could_end = m_scenario.calm && m_scenario.death > Duration{10'000} && !m_dying && !m_exited && m_step != nullptr;
    if (could_end && m_scenario.step_script == StepScript::evicted && !m_cancelled)
      m_violations.emplace_back("evicted, the step does not end within its grace");
    die();
  });
}

// The Workflow and the pod's label change about a second before the first signal; under KFP v2 the program is killed soon after it, under Argo never
// (docs/design/kfp.md, Signals). A Workflow that is deleted takes its pods along. A pod may be deleted – a node that is drained, a pod that Argo
// collects – before the controller has come to label it.
void World::cancel_run() {
  if (m_step == nullptr || m_exited || m_dying || m_cancelled) return;
  m_trace.log("pipeline", "the run is terminated");
  m_acted = m_cancelled = true;
  const auto label = [this] {
    const auto completed = [](Json& changed) { changed["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"; };
    m_cluster.store.update(m_workflow->uid(), completed);
    if (m_cluster.store.by_uid(m_pod.uid) != nullptr) m_cluster.store.update(m_pod.uid, completed);
  };
  auto first = m_random.between(Duration{800}, Duration{1'500});
  if (m_scenario.cancel == Cancel::workflow_deleted) {
    m_world_deletes = true;
    m_cluster.collector.remove(m_cluster.store.by_uid(m_workflow->uid()), Propagation::background);
    m_world_deletes = false;
    first = Duration{400};
  } else {
    shut_down();
    m_loop.after(m_scenario.cancel == Cancel::labelled ? Duration{0} : first + m_random.between(Duration{0}, Duration{3'000}), label);
  }
  const bool deleted = m_scenario.cancel == Cancel::pod_deleted;
  if (deleted)
    m_loop.after(first - Duration{200}, [this, uid = m_pod.uid] {
      if (const auto pod = m_cluster.store.by_uid(uid)) m_cluster.collector.remove(pod, Propagation::background);
    });
  const bool killed = deleted || m_scenario.death < Duration{1'000} || m_scenario.cancel == Cancel::workflow_deleted;
  m_loop.after(first, [this, killed] {
    send_signal();
    if (killed) end_pod();
  });
  if (!killed) m_loop.after(first + Duration{1'000}, [this] { send_signal(); });
}

void World::shut_down() {
  m_cluster.store.update(m_workflow->uid(), [this](Json& changed) {
    if (m_scenario.shutdown == Shutdown::deadline)
      changed["spec"]["activeDeadlineSeconds"] = 0;
    else
      changed["spec"]["shutdown"] = m_scenario.shutdown == Shutdown::stop ? "Stop" : "Terminate";
  });
}

void World::evict_step() {
  if (m_step == nullptr || m_exited || m_dying) return;
  m_trace.log("pipeline", "the step's pod is evicted");
  m_acted = true;
  const auto cause = [this, uid = m_pod.uid] {
    const auto pod = m_cluster.store.by_uid(uid);
    if (pod == nullptr) return;
    if (!m_scenario.by_kubelet) return m_cluster.collector.remove(pod, Propagation::background), void();
    m_cluster.store.update(uid, [](Json& changed) {
      changed["status"]["phase"] = "Failed";
      changed["status"]["reason"] = "Evicted";
      changed["status"]["conditions"].push_back({{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "TerminationByKubelet"}});
    });
  };
  const auto signal = m_scenario.cause_lag > Duration{0} ? Duration{0} : Duration{200};
  m_loop.after(m_scenario.cause_lag, cause);
  m_loop.after(signal, [this, life = m_lives.size()] {
    if (life != m_lives.size()) return;
    send_signal();
    end_pod();
  });
}

// An impatient user at a terminal: a step that does not end at once is signalled again.
void World::stop_step() {
  if (m_step == nullptr || m_exited || m_dying) return;
  m_acted = true;
  send_signal(SIGINT);
  m_loop.after(Duration{60'000}, [this, life = m_lives.size()] {
    if (life != m_lives.size() || m_exited || m_step == nullptr) return;
    send_signal(SIGINT);
    m_loop.after(Duration{100}, [this, life] {
      if (life == m_lives.size() && !m_exited && m_step != nullptr) m_violations.emplace_back("told to stop a second time, the step goes on");
    });
  });
}

std::vector<std::string> World::run(const Factory& factory, const Factory& visitor) {
  m_visit = visitor;
  const auto last = m_loop.now() + m_options.longest;
  begin_life(factory);
  for (int tasks = 0;; ++tasks) {
    if (m_dying || m_exited || m_lost) {
      bury();
      if (!m_another) break;
      const bool late = m_scenario.step_script == StepScript::evicted && m_scenario.seed % 11 == 0;
      // What a pod's creation says of the time are whole seconds; one that was lost is never followed within the same.
      const auto soonest = m_scenario.step_script == StepScript::outlived ? Duration{2'000} : Duration{500};
      m_loop.run_for(late ? std::chrono::hours(3) : m_random.between(soonest, Duration{30'000}));
      m_unattended += std::chrono::duration_cast<Duration>(m_loop.now() - m_ended);
      begin_life(factory);
    } else if (tasks > m_options.max_tasks || !m_loop.step(last)) {
      m_violations.push_back(fmt::format("the step does not end: {} after {} tasks", trainstep::describe(m_loop.now() - m_began), tasks));
      die();
      bury();
      break;
    }
  }
  const Oracle oracle(*this);
  oracle.check_verdict(m_violations);
  oracle.check_lines(m_violations);
  oracle.check_requests(m_violations);
  settle();
  return m_violations;
}

// The pipeline's end, too: with the Workflow everything that belongs to it must go.
void World::settle() {
  const Oracle oracle(*this);
  // What is kept for another attempt that never comes is there for some time; an operator may look at it only when it looks at everything.
  const bool kept = m_lives.back().verdict && m_lives.back().verdict->verdict_class == result::VerdictClass::interrupted;
  // Who looks on notices only with the next list that a watch has been silent: after half an hour.
  const bool deaf = m_visitor && !m_scenario.calm;
  m_loop.run_for(kept ? std::chrono::hours(13) : std::chrono::minutes(deaf ? 70 : 30));
  end_visit();
  end_twin();
  oracle.check_visit(m_violations);
  oracle.check_leaks(m_violations);
  m_world_deletes = true;
  if (m_workflow != nullptr)
    if (const auto live = m_cluster.store.by_uid(m_workflow->uid())) m_cluster.collector.remove(live, Propagation::background);
  m_loop.run_for(std::chrono::minutes(20));
  oracle.check_empty(m_violations);
}

bool World::api_server_away(Time at, Duration at_least) const {
  for (const auto& outage : m_network.faults().outages)
    if (outage.to - outage.from >= at_least && at >= outage.from && at < outage.to + Duration{60'000}) return true;
  return false;
}

}  // namespace trainstep::sim
