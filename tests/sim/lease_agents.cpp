// SPDX-License-Identifier: Apache-2.0
#include "sim/lease_agents.h"

#include <utility>

#include "result/pod_report.h"

namespace trainstep::sim {
namespace {

// Of a pod whose agent looks at the Lease; nullopt: another one's.
std::optional<plan::Task> task_of(const Json& pod) {
  const auto& container = pod["spec"]["containers"][0];
  if (to_text(container.value("command", Json())).find("replica") != std::string::npos) return std::nullopt;
  for (const auto& variable : container.value("env", Json::array()))
    if (variable["name"] == plan::task_variable) return *plan::read_task(Json::parse(variable["value"].get<std::string>()));
  return std::nullopt;
}

}  // namespace

LeaseAgents::LeaseAgents(SimLoop& loop, Cluster& cluster, Network& inside, std::shared_ptr<kube::Credentials> credentials, Random random)
    : m_loop(loop), m_cluster(cluster), m_inside(inside), m_credentials(std::move(credentials)), m_random(random) {
  m_cluster.store.listen([this](const Happening& happening) {
    if (happening.now->resource->plural == "pods") pod_heard(happening);
  });
}

// As exec() puts it together.
void LeaseAgents::pod_heard(const Happening& happening) {
  const auto& pod = *happening.now;
  const std::string uid(pod.uid());
  if (happening.sort == Happening::Sort::deleted || phase_of(pod) != "Running") return void(m_loop.post([this, uid] { m_agents.erase(uid); }));
  const auto task = task_of(pod.object);
  if (m_agents.contains(uid) || !task || !task->lease.wanted()) return;
  const auto lapsed = [this, uid, attempt = task->attempt](const std::string& why) {
    result::PodReport report;
    report.attempt = attempt;
    report.verdict_class = result::VerdictClass::capacity;
    report.message = why;
    report.primary = true;
    m_cluster.kubelet.exit(uid, 5, result::to_text(report));
  };
  m_agents[uid] = std::make_unique<agent::LeaseWatch>(agent::LeaseWatch::Context{m_loop, m_inside, m_random.next(), [](const auto&) {}, lapsed},
                                                      m_credentials, task->job, task->lease);
}

}  // namespace trainstep::sim
