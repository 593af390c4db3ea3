// The cluster's side: what is there at first, and what happens to the job.
// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/events.h"
#include "sim/oracle.h"

namespace trainstep::sim {
namespace {

Json suspension(const Resource& resource, bool suspended) {
  if (resource.built_in) return {{"suspend", suspended}};
  return {{"runPolicy", {{"suspend", suspended}}}};
}

// What a reader of the story wants of a status.
std::string summary(const Version& object) {
  const auto& status = part_of(object.object, {"status"});
  auto text = std::string(text_at(status, {"phase"}));
  if (const auto* conditions = dig(status, {"conditions"}); conditions != nullptr && object.resource->plural != "pods")
    for (const auto& condition : *conditions)
      if (text_at(condition, {"status"}) == "True") text += fmt::format(" {}", text_at(condition, {"type"}));
  if (const auto* statuses = dig(status, {"containerStatuses"}); statuses != nullptr && !statuses->empty())
    text += " " + (*statuses)[0].at("state").dump();
  if (object.resource->plural == "events") text += fmt::format("{}: {}", text_at(object.object, {"reason"}), text_at(object.object, {"message"}));
  return object.deleting() ? text + " (deleting)" : text;
}

bool by_deadline(const Json& status) {
  const auto* conditions = dig(status, {"conditions"});
  return conditions != nullptr && std::any_of(conditions->begin(), conditions->end(), [](const Json& one) {
           return text_at(one, {"reason"}) == "DeadlineExceeded" ||
                  text_at(one, {"message"}).find("longer than specified deadline") != std::string::npos;
         });
}

}  // namespace

World::World(std::uint64_t seed, Options options)
    : m_scenario(draw_scenario(seed, options.overrides)),
      m_options(std::move(options)),
      m_trace(m_loop, m_options.trace),
      m_random(seed ^ 0xabcdef12345U),
      m_odds(seed * 0x94d049bb133111ebU + 11),
      m_cluster(m_loop, m_random.split(), m_scenario.installed,
                [this](const PodIdentity& who) {
                  auto script = pod_script(m_scenario, m_random, who);
                  m_trace.log("fate", "{} (try {} of {}): {} after {}", who.name, who.attempt, who.replica, script.exit_code,
                              script.runs_for ? trainstep::describe(*script.runs_for) : "a stop");
                  return script;
                }),
      m_network(m_loop, m_cluster.server, m_trace, m_random.split(), m_scenario.faults) {
  m_began = m_loop.now();
  set_up_cluster();
  set_up_accidents();
  set_up_oddities();
}

World::~World() = default;

bool World::is_stranger(const Version& object) { return !text_at(object.object, {"metadata", "labels", "stranger"}).empty(); }

bool World::is_job(const Resource& resource) const {
  if (m_scenario.kind == "Job") return resource.group_version == "batch/v1" && resource.plural == "jobs";
  return !resource.built_in && resource.plural == (m_scenario.kind == "PyTorch" ? "pytorchjobs" : m_scenario.kind == "TF" ? "tfjobs" : "mpijobs");
}

void World::set_up_cluster() {
  m_cluster.server.admit([this](const Resource& resource, Json& object, bool) { return admit(resource, object); });
  m_cluster.store.listen([this](const Happening& happening) {
    if (m_options.trace)
      m_trace.log("object", "{} {}/{} {}",
                  happening.sort == Happening::Sort::added     ? "added"
                  : happening.sort == Happening::Sort::deleted ? "deleted"
                                                               : "changed",
                  happening.now->resource->plural, happening.now->name(), summary(*happening.now));
    if (happening.now->resource->plural == "pods") pod_heard(*happening.now);
    if (is_job(*happening.now->resource) && !is_stranger(*happening.now)) job_heard(happening);
  });
  if (m_scenario.workflow)
    m_workflow = m_cluster.store.create(*m_cluster.store.resource("argoproj.io/v1alpha1", "workflows"),
                                        {{"apiVersion", "argoproj.io/v1alpha1"},
                                         {"kind", "Workflow"},
                                         {"metadata", {{"name", "wf"}, {"namespace", "lab"}}},
                                         {"spec", Json::object()},
                                         {"status", {{"phase", "Running"}, {"startedAt", to_rfc3339(m_loop.now())}}}});
  m_cluster.compact_regularly();
  rotate_token();
}

// What happens by the clock and not by what the step does.
void World::set_up_accidents() {
  for (const auto& absence : m_scenario.absences) {
    if (absence.party == MissingPod::Party::api_server) {
      const auto sort = m_random.pick({Outage::Sort::refused, Outage::Sort::silent, Outage::Sort::unavailable, Outage::Sort::gateway});
      m_network.add_outage({m_began + absence.at, m_began + absence.at + absence.length, sort});
      m_loop.after(absence.at, [this] { m_cluster.store.compact(m_cluster.store.number() - static_cast<std::uint64_t>(m_random.between(0, 5))); });
      continue;
    }
    m_loop.after(absence.at, [this, absence] {
      const bool controllers = absence.party == MissingPod::Party::controllers;
      m_trace.log("world", "{} away for {}", controllers ? "controllers" : "kubelets", trainstep::describe(absence.length));
      if (controllers)
        m_cluster.stop_controllers(m_loop.now() + absence.length);
      else
        m_cluster.kubelet.restart(m_loop.now() + absence.length);
    });
  }
  for (const auto& [at, by] : m_scenario.clock_jumps)
    m_loop.after(at, [this, jump = by] {
      if (m_step_loop) m_step_loop->jump(jump);
    });
  m_network.on_arrival([this](const http::Request& request) { return accident(request); });
  m_network.delay_watch("/workflows", m_scenario.workflow_lag);
  if (m_scenario.sidecars) m_cluster.inject_sidecars();
  m_cluster.server.options().expired_as_http = m_random.chance(0.3);
  if (m_scenario.script == Script::quota_a_while)
    m_cluster.refuse_pods([this](const Json&) -> std::optional<std::string> {
      if (m_jobs.empty() || m_loop.now() > m_began + m_scenario.acts_for) return std::nullopt;
      return "exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8";
    });
}

// The old token is good for a little while yet, as bound tokens are.
void World::rotate_token() {
  m_token = fmt::format("token-{}", ++m_tokens);
  auto& good = m_cluster.server.tokens();
  good.insert(m_token);
  m_loop.after(m_scenario.token_life + Duration{10'000}, [&good, old = m_token] { good.erase(old); });
  m_loop.after(m_scenario.token_life, [this] { rotate_token(); });
}

std::optional<Reply> World::admit(const Resource& resource, Json& object) {
  if (!is_job(resource)) return std::nullopt;
  if (m_scenario.namesake && m_jobs.empty()) leave_traces_of_namesake(resource, text_at(object, {"metadata", "name"}));
  if (m_scenario.script == Script::webhook_denies) return webhook_denied("validator.example.org", "spec.template: team label is missing");
  if (m_scenario.script == Script::webhook_down_a_while && m_loop.now() < m_began + m_scenario.acts_for)
    return webhook_unreachable("validator.example.org");
  if (auto no = refuse_second(resource, object)) return no;
  if (m_scenario.script == Script::suspended) object["spec"].merge_patch(suspension(resource, true));
  if (m_scenario.odd.held) object["metadata"]["finalizers"] = Json::array({holding_finalizer});
  if (m_scenario.script == Script::stranger && m_stranger.empty()) {
    Json taken = {{"apiVersion", resource.group_version},
                  {"kind", resource.kind},
                  {"metadata", {{"name", text_at(object, {"metadata", "name"})}, {"namespace", "lab"}, {"labels", {{"stranger", "yes"}}}}},
                  {"spec", object.at("spec")}};
    taken["spec"].merge_patch(suspension(resource, true));
    m_stranger = m_cluster.store.create(resource, std::move(taken))->uid();
  }
  return std::nullopt;
}

// Admission comes before the look whether the name is taken.
std::optional<Reply> World::refuse_second(const Resource& resource, const Json& object) {
  const auto name = std::string(text_at(object, {"metadata", "name"}));
  if (!m_scenario.no_second || m_cluster.store.find(resource, "lab", name) == nullptr) return std::nullopt;
  if (m_scenario.seed % 2 == 0) return webhook_denied("validator.example.org", "there is a job of this name");
  return forbidden(resource, name, "exceeded quota: jobs, requested: count/jobs=1, used: count/jobs=1, limited: count/jobs=1");
}

Accident World::accident(const http::Request& request) {
  const bool evicted = m_scenario.step_script == StepScript::evicted && m_acted && m_lives.size() == 1;
  if (evicted && request.method == "PATCH") return m_scenario.keeping;
  if (request.method != "POST" || !request.url.path.ends_with("jobs") || !asked(request, "dryRun").empty()) return Accident::none;
  if (std::exchange(m_created, true)) return Accident::none;
  switch (m_scenario.first_create) {
    case FirstCreate::answered:
      return Accident::none;
    case FirstCreate::lost:
      return Accident::lost;
    case FirstCreate::swallowed:
      return Accident::swallowed;
    case FirstCreate::gateway:
      return Accident::gateway;
    case FirstCreate::late:
      return Accident::late;
  }
  return Accident::none;
}

// Events outlive their objects by an hour.
void World::leave_traces_of_namesake(const Resource& resource, std::string_view name) {
  const auto launcher = std::string(name) + "-launcher";
  const std::string denied = "Error creating: admission webhook \"policy.example.org\" denied the request: no";
  write_event(m_cluster.store, resource.kind, "lab", name, "gone-1", "FailedCreatePod", denied);
  write_event(m_cluster.store, resource.kind, "lab", name, "gone-1", "ValidationError", "spec is not valid");
  write_event(m_cluster.store, "Job", "lab", launcher, "gone-2", "FailedCreate", denied);
  // Other objects may have the name of a job.
  write_event(m_cluster.store, "Service", "lab", name, "other-1", "FailedCreate", denied);
}

void World::pod_heard(const Version& pod) {
  if (m_jobs.empty() || m_jobs.back().began || phase_of(pod) != "Running" || replica_of(pod.object) != m_scenario.primary) return;
  m_jobs.back().began = m_cluster.kubelet.began(pod.uid());
}

// A queue holds it, and none of its pods was ever started, or all are gone again.
bool waits_in_queue(const Json& job) {
  const auto* suspended = dig(job, {"spec", "suspend"});
  if (suspended == nullptr) suspended = dig(job, {"spec", "runPolicy", "suspend"});
  return suspended != nullptr && *suspended == true && text_at(job, {"status", "startTime"}).empty();
}

void World::job_heard(const Happening& happening) {
  const auto& job = *happening.now;
  if (happening.sort == Happening::Sort::added) return job_created(happening.now);
  const auto record = std::find_if(m_jobs.begin(), m_jobs.end(), [&job](const JobRecord& its) { return its.uid == job.uid(); });
  if (record == m_jobs.end()) return;
  const auto& status = part_of(job.object, {"status"});
  const bool final = job.resource->group_version != "kubeflow.org/v2beta1" || status.contains("completionTime");
  if (final && (has_condition(status, "Complete") || has_condition(status, "SuccessCriteriaMet") || has_condition(status, "Succeeded")))
    record->succeeded = true;
  if (final && (has_condition(status, "Failed") || has_condition(status, "FailureTarget"))) record->failed = true;
  if ((record->succeeded || record->failed) && !record->ended) record->ended = m_loop.now();
  if (record->failed && by_deadline(status) && !text_at(job.object, {"metadata", "annotations", "trainstep.dev/kept-until"}).empty())
    record->lapsed = true;
  const auto outcome = text_at(job.object, {"metadata", "annotations", "trainstep.dev/outcome"});
  if (!outcome.empty() && outcome != "succeeded") record->reported = true;
  look_at_deadline(happening);
  look_at_mark(happening);
  record->waits = waits_in_queue(job.object);
  if (happening.sort == Happening::Sort::deleted) record->gone = true;
  const bool deleted_now = happening.sort == Happening::Sort::deleted || (job.deleting() && !happening.before->deleting());
  if (deleted_now && happening.sort != Happening::Sort::deleted) hold(record->uid);
  if (!deleted_now || record->deleted_by_world || record->deleted_by_step) return;
  const bool with_its_workflow = m_workflow && m_cluster.store.by_uid(m_workflow->uid()) == nullptr;
  (m_world_deletes || with_its_workflow ? record->deleted_by_world : record->deleted_by_step) = true;
  record->removed = m_loop.now();
}

void World::job_created(const VersionPtr& job) {
  if (const auto why = Oracle(*this).why_not_another(); !why.empty()) m_violations.push_back(why);
  const std::string uid(job->uid());
  m_jobs.push_back({.uid = uid, .name = std::string(job->name()), .made = m_loop.now()});
  // The queue has each job wait for its turn; all else befalls the first one alone.
  if (m_scenario.script == Script::suspended) m_loop.after(m_scenario.acts_for, [this, uid] { set_suspended(uid, false); });
  if (m_jobs.size() > 1) return;
  for (const auto at : m_scenario.kills) m_loop.after(at, [this] { die(); });
  if (m_scenario.visit && m_visit) m_loop.after(m_scenario.visit->at, [this] { begin_visit(); });
  if (m_scenario.script == Script::operator_restarts) m_cluster.stop_controllers(m_loop.now() + m_scenario.acts_for);
  const auto act = m_scenario.acts_at;
  if (m_scenario.script == Script::preempted)
    m_loop.after(act, [this, uid] {
      set_suspended(uid, true);
      m_loop.after(m_scenario.acts_for, [this, uid] { set_suspended(uid, false); });
    });
  if (m_scenario.script == Script::deleted_by_somebody)
    m_loop.after(act, [this, uid] {
      const auto live = m_cluster.store.by_uid(uid);
      if (live == nullptr || live->deleting()) return;
      m_trace.log("world", "another client deletes the job");
      m_world_deletes = true;
      m_cluster.collector.remove(live, m_random.pick({Propagation::foreground, Propagation::background}));
      m_world_deletes = false;
    });
  if (m_scenario.act_at_call == 0) m_loop.after(act, [this] { this->act(); });
}

void World::set_suspended(const std::string& uid, bool suspended) {
  const auto job = m_cluster.store.by_uid(uid);
  if (job == nullptr || job->deleting()) return;
  const auto& status = part_of(job->object, {"status"});
  for (const auto* end : {"Complete", "Succeeded", "Failed"})
    if (has_condition(status, end)) return;
  m_trace.log("world", "the queue {} the job", suspended ? "suspends" : "resumes");
  m_cluster.store.update(uid, [&](Json& changed) { changed["spec"].merge_patch(suspension(*job->resource, suspended)); });
}

}  // namespace trainstep::sim
