// An attempt that is lost while its process lives on: its node is cut off, its pod's end is written without it, another attempt begins.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/world.h"

namespace trainstep::sim {
namespace {

// A follower may take a deadline away once a minute.
constexpr Duration lifted_by{90'000};
// Longer than it is asked why a signal has come, shorter than the grace.
constexpr Duration out_of_sight{12'000};

std::string_view annotation(const Version& job, std::string_view name) { return text_at(job.object, {"metadata", "annotations", name}); }

}  // namespace

void World::make_twin() {
  m_twin = std::make_unique<Twin>();
  m_twin->network = std::make_unique<Network>(m_loop, m_cluster.server, m_trace, m_random.split(), m_scenario.faults);
  m_twin->pod = m_pod;
  m_twin->network->on_call(
      [this](int number, const http::Request& request) { return m_lives.size() == 1 ? called(number, request) : Network::Hook::go; }, [] {});
  m_twin->network->on_arrival([this](const http::Request& request) {
    if (request.method == "DELETE") look_at_removal(request.url.path);
    return Accident::none;
  });
}

// As the kubelet, the pod collector or a drain leaves the pod, and Argo labels it; the process is not signalled yet.
void World::lose_step() {
  if (m_step == nullptr || m_exited || m_dying) return;
  m_trace.log("pipeline", "the step's pod is lost, its process lives on");
  m_acted = m_lost = true;
  if (m_scenario.cut_off > Duration{0}) m_twin->network->add_outage({m_loop.now(), m_loop.now() + m_scenario.cut_off, Outage::Sort::silent});
  const auto how = m_random.between(0, 2);
  m_cluster.store.update(m_pod.uid, [&](Json& changed) {
    if (how == 0) changed["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}};
    if (how == 1) {
      const auto conditions = Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "DeletionByPodGC"}}});
      changed["status"] = {{"phase", "Failed"}, {"conditions", conditions}};
    }
    if (how == 2) changed["metadata"]["deletionTimestamp"] = to_rfc3339(m_loop.now() + m_scenario.death);
  });
  m_loop.after(m_random.between(Duration{0}, Duration{3'000}), [this, uid = m_pod.uid] {
    if (m_cluster.store.by_uid(uid) == nullptr) return;
    m_cluster.store.update(uid, [](Json& changed) { changed["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"; });
  });
}

// Its signals come when the kubelet is back; by then its pod may have gone. Why they come it can often not find out: its API server is away as well.
void World::outlive() {
  m_twin->loop = std::move(m_step_loop);
  m_twin->step = std::move(m_step);
  const auto gone = m_random.between(Duration{0}, Duration{60'000});
  const auto told = m_random.between(Duration{0}, Duration{180'000});
  m_twin->in_doubt = m_random.chance(0.5) || told < m_scenario.cut_off;
  m_loop.after(gone, [this] {
    if (const auto pod = m_cluster.store.by_uid(m_twin->pod.uid)) m_cluster.store.remove(pod);
  });
  m_loop.after(told, [this] {
    if (m_twin->step == nullptr) return;
    if (m_twin->in_doubt) m_twin->network->add_outage({m_loop.now(), m_loop.now() + out_of_sight, Outage::Sort::unavailable});
    m_trace.log("pipeline", "signal 15 to the process that was lost");
    m_twin->step->signal(15);
  });
  m_loop.after(told + m_scenario.death, [this] { end_twin(); });
}

void World::twin_ended(const result::Verdict& verdict) {
  using enum result::VerdictClass;
  m_trace.log("twin", "ends: {}", result::describe(verdict));
  const bool knows = !m_cancelled && !m_twin->in_doubt;
  if (verdict.verdict_class == cancelled && knows) m_violations.emplace_back("an attempt that was lost takes its signal for a cancel");
  m_loop.post([this] { end_twin(); });
}

void World::end_twin() {
  if (!m_twin || !m_twin->step) return;
  m_twin->step.reset();
  m_twin->loop.reset();
  m_twin->network->kill();
}

bool World::is_followed(const Version& job) const {
  const bool lives = m_lives.size() > 1 && m_step && !m_exited && !m_dying && !m_lives.back().signalled;
  return lives && annotation(job, "trainstep.dev/followed-by") == fmt::format("attempt-{}", m_lives.size());
}

// By the lost attempt, which was not asked to cancel the run.
void World::look_at_removal(const std::string& path) {
  for (const auto& record : m_jobs) {
    const auto job = m_cluster.store.by_uid(record.uid);
    if (!job || job->deleting() || record.succeeded || record.failed || m_cancelled || !is_followed(*job)) continue;
    if (!path.ends_with("/" + std::string(job->name()))) continue;
    m_loop.after(Duration{0}, [this, uid = record.uid] {
      const auto now = m_cluster.store.by_uid(uid);
      if (!now || now->deleting()) m_violations.emplace_back("an attempt that was lost deletes the job that another one follows");
    });
  }
}

// Who comes to the job when a later attempt has said on it that it is its own leaves it to that one.
void World::look_at_mark(const Happening& happening) {
  constexpr auto mark = "trainstep.dev/followed-by";
  if (!happening.before || !m_twin || m_lives.size() < 2 || annotation(*happening.now, mark) != "attempt-1") return;
  const auto before = annotation(*happening.before, mark);
  const auto whose = before.empty() ? annotation(*happening.before, "trainstep.dev/created-by") : before;
  if (whose.starts_with("attempt-") && whose != "attempt-1")
    m_violations.push_back(fmt::format("an attempt that was lost takes {} from {}", happening.now->name(), whose));
}

// A follower has annotated the job. A deadline set by another process would end the training.
void World::look_at_deadline(const Happening& happening) {
  constexpr auto kept = "trainstep.dev/kept-until";
  const auto& job = *happening.now;
  const bool appears = happening.before && annotation(*happening.before, kept).empty() && !annotation(job, kept).empty();
  const bool followed = m_twin && m_lives.size() > 1 && m_step && !m_exited && !m_dying && !m_lives.back().signalled;
  if (!appears || !followed) return;
  if (annotation(job, "trainstep.dev/followed-by") == fmt::format("attempt-{}", m_lives.size()))
    m_violations.push_back(fmt::format("{} is followed, and an attempt that was lost gives it a deadline", job.name()));
  m_loop.after(lifted_by, [this, uid = std::string(job.uid()), life = m_lives.size()] {
    const auto live = m_cluster.store.by_uid(uid);
    const bool still = live && !live->deleting() && !annotation(*live, kept).empty();
    if (still && life == m_lives.size() && !m_exited && !m_dying && !m_lives.back().signalled)
      m_violations.push_back(fmt::format("{} is followed, and the deadline that an attempt has left it with stays", live->name()));
  });
}

}  // namespace trainstep::sim
