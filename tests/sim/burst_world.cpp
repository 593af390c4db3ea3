// SPDX-License-Identifier: Apache-2.0
#include "sim/burst_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "data/digest.h"
#include "kube/token_source.h"
#include "sim/real_step.h"

namespace trainstep::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto own_host = "kubernetes.default.svc";
// How long after the last renewal the pods of a job have ended: a Lease that holds for as long as a job is kept for the next attempt, and two reads
// of it.
constexpr Duration until_all_ends{60min + 2 * 5min + 10min};
// The step's verdict, or another life of it, comes within this time: a training, cuts, and the waits for servers that are away.
constexpr Duration longest_life = 60h;

std::shared_ptr<kube::Credentials> credentials(const std::string& host) {
  auto result = std::make_shared<kube::Credentials>();
  result->server = {"https", host, 443, "", {}};
  result->endpoint = std::make_shared<http::Endpoint>();
  result->token = kube::fixed_token("t");
  result->name_space = "lab";
  return result;
}

Faults draw_faults(Random& random) {
  Faults faults;
  if (random.chance(0.4)) return faults;
  faults.slow = 0.02;
  faults.lost_request = faults.lost_reply = faults.cut = faults.server_error = faults.gateway = 0.01;
  faults.swallowed = faults.too_many = faults.stalled = 0.005;
  return faults;
}

}  // namespace

void HostRouter::add(std::string host, Network& network) { m_networks.emplace_back(std::move(host), &network); }

http::Transport::Id HostRouter::start(http::Request request, Handler handler) {
  const auto of_host = std::ranges::find(m_networks, request.url.host, [](const auto& network) { return network.first; });
  const auto at = static_cast<Id>(of_host - m_networks.begin());
  return of_host->second->start(std::move(request), std::move(handler)) * m_networks.size() + at;
}

void HostRouter::cancel(Id id) { m_networks[id % m_networks.size()].second->cancel(id / m_networks.size()); }

BurstWorld::Site::Site(BurstWorld& world, std::string its_name)
    : name(std::move(its_name)),
      cluster(world.m_loop, world.m_random.split(), Installed{}, [&world](const PodIdentity&) { return world.pod_script(); }),
      link(world.m_loop, cluster.server, world.m_trace, world.m_random.split(), draw_faults(world.m_random)),
      inside(world.m_loop, cluster.server, world.m_trace, world.m_random.split(), Faults{}),
      agents(world.m_loop, cluster, inside, credentials(own_host), world.m_random.split()) {
  cluster.server.tokens().insert("t");
  cluster.store.listen([this, &world](const Happening& happening) { world.job_heard(*this, happening); });
}

BurstWorld::BurstWorld(std::uint64_t seed, bool trace) : m_random(seed * 0x2545f4914f6cdd1dU + 3), m_trace(m_loop, trace) {
  m_scenario.seed = seed;
  m_scenario.kind = m_random.pick({"Job", "PyTorch", "TF"});
  m_scenario.distribution = {{"distribution_type", m_scenario.kind}};
  if (m_scenario.kind != "Job") m_scenario.distribution["number_of_workers"] = 2;
  m_scenario.options = {{"lease", "30m"}, {"agent_image", "trainstep:1"}};
  m_training = m_random.between(Duration(30s), Duration(3h));
  m_fails = m_random.chance(0.2);
  m_in_pod = m_random.chance(0.5);
  m_home = std::make_unique<Cluster>(m_loop, m_random.split(), Installed{}, [](const PodIdentity&) { return PodScript{}; });
  m_home->server.tokens().insert("t");
  m_home_link = std::make_unique<Network>(m_loop, m_home->server, m_trace, m_random.split(), draw_faults(m_random));
  m_router.add(own_host, *m_home_link);
  if (m_in_pod)
    m_workflow = m_home->store.create(*m_home->store.resource("argoproj.io/v1alpha1", "workflows"),
                                      {{"apiVersion", "argoproj.io/v1alpha1"},
                                       {"kind", "Workflow"},
                                       {"metadata", {{"name", "wf"}, {"namespace", "lab"}}},
                                       {"spec", Json::object()},
                                       {"status", {{"phase", "Running"}, {"startedAt", to_rfc3339(m_loop.now())}}}});
  for (std::size_t i = 0; i < m_sites.size(); ++i) {
    const std::string name = i == 0 ? "gpu-a" : "gpu-b";
    m_sites[i] = std::make_unique<Site>(*this, name);
    m_router.add(name, m_sites[i]->link);
    write_secret(name);
    m_scenario.clusters.push_back(name);
    set_quota(*m_sites[i], m_random.chance(0.25));
  }
  plan_cuts();
}

BurstWorld::~BurstWorld() { die(); }

PodScript BurstWorld::pod_script() {
  PodScript script;
  script.runs_for = m_training;
  script.exit_code = m_fails ? 1 : 0;
  return script;
}

void BurstWorld::write_secret(const std::string& name) {
  Json data = Json::object();
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"remote-host", "https://" + name}, {"remote-token", "t"}, {"remote-namespace", "lab"}})
    data[key] = encode_base64(value);
  m_home->store.create(*m_home->store.resource("v1", "secrets"),
                       {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}, {"namespace", "lab"}}}, {"data", data}});
}

// As Argo makes one for each attempt.
void BurstWorld::write_own_pod(int life) {
  Json metadata = {{"name", fmt::format("step-{}", life)}, {"namespace", "lab"}};
  metadata["labels"] = {{"workflows.argoproj.io/workflow", "wf"}};
  metadata["annotations"] = {{"workflows.argoproj.io/node-name", fmt::format("wf(0).train({})", life)}};
  metadata["ownerReferences"] = Json::array({controller_reference(m_workflow)});
  const Json argo = {{"name", "train"}, {"retryStrategy", {{"retryPolicy", "Always"}}}};
  const Json environment = Json::array({{{"name", "ARGO_TEMPLATE"}, {"value", argo.dump()}}});
  const Json container = {{"name", "main"}, {"image", "trainstep:1"}, {"env", environment}};
  const Json spec = {{"nodeName", "node-9"}, {"terminationGracePeriodSeconds", 30}, {"containers", Json::array({container})}};
  m_home->store.create(*m_home->store.resource("v1", "pods"),
                       {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}, {"status", {{"phase", "Running"}}}});
}

void BurstWorld::set_quota(Site& site, bool full) {
  if (full == (site.quota != nullptr)) return;
  m_trace.log("world", "{} has {} room", site.name, full ? "no" : "");
  auto& store = site.cluster.store;
  if (!full) return store.remove(std::exchange(site.quota, nullptr));
  const Json none = {{"pods", "0"}};
  site.quota = store.create(*store.resource("v1", "resourcequotas"), {{"apiVersion", "v1"},
                                                                      {"kind", "ResourceQuota"},
                                                                      {"metadata", {{"name", "team"}, {"namespace", "lab"}}},
                                                                      {"spec", {{"hard", none}}},
                                                                      {"status", {{"hard", none}, {"used", none}}}});
}

// Half a minute, five minutes, longer than the Lease, for ever.
void BurstWorld::plan_cuts() {
  for (auto& site : m_sites) {
    for (int cuts = static_cast<int>(m_random.between(0, 3)); cuts > 0; --cuts) {
      const auto length = m_random.pick({Duration(30s), Duration(5min), Duration(50min)});
      const auto from = m_loop.now() + m_random.between(Duration(0), m_random.chance(0.5) ? Duration(60s) : Duration(4h));
      site->link.add_outage({from, from + length, m_random.pick({Outage::Sort::silent, Outage::Sort::refused, Outage::Sort::unavailable})});
    }
    if (m_random.chance(0.3))
      m_loop.after(m_random.between(Duration(0), Duration(1h)), [this, it = site.get()] { set_quota(*it, m_random.chance(0.5)); });
  }
}

void BurstWorld::job_heard(Site& site, const Happening& happening) {
  const auto& job = *happening.now;
  const auto& plural = job.resource->plural;
  if (plural != "jobs" && plural != "pytorchjobs" && plural != "tfjobs") return;
  const std::string uid(job.uid());
  if (happening.sort == Happening::Sort::added) {
    m_trace.log("world", "{} has a job", site.name);
    for (const auto& [other, there] : m_jobs)
      if (there != &site) m_violations.push_back(fmt::format("a second job, in {}, while one is in {}", site.name, there->name));
    m_jobs[uid] = &site;
  }
  const auto& status = part_of(job.object, {"status"});
  const bool good = has_condition(status, "Complete") || has_condition(status, "Succeeded");
  m_succeeded = m_succeeded || good;
  if (happening.sort == Happening::Sort::deleted || job.deleting() || good || has_condition(status, "Failed")) m_jobs.erase(uid);
}

void BurstWorld::live(int life, End end, Duration after) {
  for (auto* network : {m_home_link.get(), &m_sites[0]->link, &m_sites[1]->link}) network->revive();
  if (m_in_pod) write_own_pod(life);
  if (m_random.chance(0.5)) std::swap(m_scenario.clusters[0], m_scenario.clusters[1]);
  m_trace.log("step", "life {}: {} before {}", life, m_scenario.clusters[0], m_scenario.clusters[1]);
  m_doubts = false;
  m_own = std::make_unique<StepLoop>(m_loop, Duration(0));
  m_step = real_step({.scenario = m_scenario,
                      .loop = *m_own,
                      .transport = m_router,
                      .credentials = credentials(own_host),
                      .name_space = "lab",
                      .pod = m_in_pod ? fmt::format("step-{}", life) : "",
                      .node_id = "",
                      .attempt = "",
                      .seed = m_random.next(),
                      .info =
                          [this](std::string_view text) {
                            m_trace.log("says", "{}", text);
                            m_doubts = m_doubts || text.find("may still") != std::string_view::npos || text.find("remain") != std::string_view::npos;
                          },
                      .output = [](std::string_view, std::string_view) {},
                      .exit = [this](const result::Verdict& ended) { m_verdict = ended; }});
  m_step->begin();
  auto last = m_loop.now() + (end == End::by_itself ? longest_life : after);
  while (!m_verdict && m_loop.step(last)) {
  }
  if (end == End::cancelled && !m_verdict) {
    m_trace.log("step", "cancelled");
    if (m_workflow) m_home->store.update(m_workflow->uid(), [](Json& workflow) { workflow["spec"]["shutdown"] = "Terminate"; });
    m_step->signal(m_workflow ? SIGTERM : SIGINT);
    last = m_loop.now() + 30s;  // then SIGKILL
    while (!m_verdict && m_loop.step(last)) {
    }
  }
  if (end == End::by_itself && !m_verdict) m_violations.push_back("the step does not end");
  die();
}

// SIGKILL, unless it has ended.
void BurstWorld::die() {
  if (!m_own) return;
  m_own->die();
  for (auto* network : {m_home_link.get(), &m_sites[0]->link, &m_sites[1]->link}) network->kill();
  m_step.reset();
  m_own.reset();
}

std::size_t BurstWorld::running(const Site& site) const {
  const auto pods = site.cluster.training_pods();
  return static_cast<std::size_t>(
      std::ranges::count_if(pods, [](const auto& pod) { return phase_of(*pod) == "Running" || phase_of(*pod) == "Pending"; }));
}

std::size_t BurstWorld::count(const Site& site, std::string_view group_version, std::string_view plural) const {
  const auto& store = site.cluster.store;
  return store.list(*store.resource(group_version, plural), "lab").size();
}

void BurstWorld::check_left(const std::string& when, bool all) {
  for (const auto& site : m_sites) {
    if (const auto pods = running(*site); pods > 0) m_violations.push_back(fmt::format("{}: {} pods run in {}", when, pods, site->name));
    if (!all) continue;
    for (const auto& [version, plural] :
         {std::pair{"batch/v1", "jobs"}, {"kubeflow.org/v1", "pytorchjobs"}, {"kubeflow.org/v1", "tfjobs"}, {"coordination.k8s.io/v1", "leases"}})
      if (const auto left = count(*site, version, plural); left > 0)
        m_violations.push_back(fmt::format("{}: {} {} left in {}", when, left, plural, site->name));
  }
}

std::vector<std::string> BurstWorld::run() {
  bool cancelled = false;
  for (int life = 0; life < 6; ++life) {
    const bool last = life == 5;
    const auto end = last ? End::by_itself : m_random.pick({End::by_itself, End::by_itself, End::killed, End::killed, End::cancelled});
    const auto after = m_random.chance(0.5) ? m_random.between(Duration(0), Duration(3s)) : m_random.between(Duration(0), Duration(2h));
    m_verdict.reset();
    live(life, end, after);
    cancelled = end == End::cancelled && (!m_verdict || m_verdict->verdict_class == result::VerdictClass::cancelled);
    const bool again = !m_verdict || m_verdict->verdict_class == result::VerdictClass::interrupted ||
                       m_verdict->verdict_class == result::VerdictClass::system || m_verdict->verdict_class == result::VerdictClass::capacity;
    m_trace.log("world", "life {} ended: {}", life, m_verdict ? result::describe(*m_verdict) : "killed");
    if (!again || cancelled || m_random.chance(0.1)) break;
    const auto last_step = m_loop.now() + m_random.between(Duration(0), m_random.chance(0.7) ? Duration(10min) : Duration(90min));
    while (m_loop.step(last_step)) {
    }
  }
  if (m_verdict && m_verdict->verdict_class == result::VerdictClass::succeeded && !m_succeeded)
    m_violations.emplace_back("success, but no job has succeeded");
  if (m_verdict && m_verdict->verdict_class == result::VerdictClass::user && m_succeeded)
    m_violations.emplace_back("a failure of the program, but a job has succeeded");
  m_loop.run_for(until_all_ends);
  check_left("after the Lease", false);
  if (m_verdict && m_verdict->verdict_class == result::VerdictClass::succeeded && !m_doubts) check_left("after a success", true);
  return m_violations;
}

}  // namespace trainstep::sim
