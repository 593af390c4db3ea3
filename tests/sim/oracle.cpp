// SPDX-License-Identifier: Apache-2.0
#include "sim/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace trainstep::sim {

using Class = result::VerdictClass;

bool Oracle::any_job_succeeded() const {
  return std::any_of(m_world.m_jobs.begin(), m_world.m_jobs.end(), [](const JobRecord& job) { return job.succeeded; });
}

// From then on it watches the job: it lists it first.
bool Oracle::last_life_found_its_job() const {
  return std::ranges::any_of(m_world.m_network.requests(), [this](const Network::Request& request) {
    return request.life == m_world.m_lives.back().network_life && request.what.starts_with("GET ") && request.what.ends_with("jobs");
  });
}

std::set<Class> Oracle::by_script() const {
  switch (m_world.m_scenario.script) {
    case Script::succeeds:
    case Script::restarts:
    case Script::unschedulable_a_while:
    case Script::quota_a_while:
    case Script::webhook_down_a_while:
    case Script::suspended:
    case Script::preempted:
    case Script::pull_fails_a_while:
    case Script::operator_restarts:
      return {Class::succeeded};
    case Script::user_error:
    case Script::out_of_memory:
    case Script::backoff_exhausted:
      return {Class::user};
    case Script::image_pull:
    case Script::invalid_image:
    case Script::config_missing:
    case Script::webhook_denies:
    case Script::stranger:
      return {Class::input};
    case Script::unschedulable:
      return {Class::capacity, Class::timeout};
    case Script::hangs:
      return {Class::timeout};
    case Script::evicted:
      return {Class::capacity};
    case Script::node_lost:
    case Script::pod_vanishes:
      return any_job_succeeded() ? std::set{Class::succeeded} : std::set{Class::capacity, Class::system};
    case Script::operator_absent:
    case Script::deleted_by_somebody:
      return {Class::system};
  }
  return {};
}

std::set<Class> Oracle::allowed() const {
  auto result = by_script();
  const auto& life = m_world.m_lives.back();
  if (life.signalled || m_world.m_cancelled) result.insert(Class::cancelled);
  // With its Workflow the job goes, too, and which of the two is seen first is chance.
  if (m_world.m_cancelled && m_world.m_scenario.cancel == Cancel::workflow_deleted) result.insert(Class::system);
  // No further attempt follows, which the step cannot know.
  const auto& scenario = m_world.m_scenario;
  if (scenario.step_script == StepScript::evicted && m_world.m_acted && !scenario.followed && m_world.m_lives.size() == 1 &&
      !scenario.retry_policy.empty())
    result.insert(Class::interrupted);
  // Its pod had gone before it knew of a job: whatever comes after it makes one.
  if (scenario.step_script == StepScript::evicted && m_world.m_acted && std::ranges::all_of(m_world.m_jobs, &JobRecord::gone))
    result.insert(Class::interrupted);
  // Whatever was to befall it, a job that has succeeded has: a worker may fail, or wait for its image, after the master's end. And one that vanished
  // between two lives cannot be known: the next one trains anew.
  if (any_job_succeeded()) result.insert(Class::succeeded);
  // A pod that still ends while its job has been resumed: the v1 operator takes it for a failure, and the job has failed in truth.
  const auto script = m_world.m_scenario.script;
  const auto job_failed = [](const JobRecord& job) { return job.failed; };
  if ((script == Script::suspended || script == Script::preempted) && std::any_of(m_world.m_jobs.begin(), m_world.m_jobs.end(), job_failed))
    result.insert({Class::capacity, Class::system});
  // Cancelled while its pods cannot be looked at: why the job has failed stays unknown.
  if (result.contains(Class::cancelled) && std::any_of(m_world.m_jobs.begin(), m_world.m_jobs.end(), job_failed)) result.insert(Class::system);
  // Creating is tried for five minutes, even if an earlier life, unknown to this one, had got as far as that.
  const auto& absences = m_world.m_scenario.absences;
  const bool long_absence = std::any_of(absences.begin(), absences.end(), [](const MissingPod& absence) {
    return absence.party == MissingPod::Party::api_server && absence.length >= Duration{200'000};
  });
  // Of a status that tells both ends, only exit codes tell which, and their pods may have gone. So may those that only a list shows that is behind,
  // once the watch has fallen silent.
  if (scenario.odd.contradicts || (scenario.odd.behind > 0 && scenario.script == Script::evicted)) result.insert(Class::system);
  // Until its signal comes, an attempt that was lost judges the job as well: what ends it for the one ends it for the other.
  if (m_world.m_twin && std::ranges::any_of(m_world.m_jobs, &JobRecord::deleted_by_step)) result.insert(Class::system);
  // A job that is to be made anew has a name that is not free.
  if (scenario.odd.held && std::ranges::any_of(m_world.m_jobs, [](const JobRecord& job) { return job.removed.has_value(); }))
    result.insert(Class::system);
  if (long_absence && !last_life_found_its_job()) result.insert(Class::system);
  return result;
}

void Oracle::check_verdict(std::vector<std::string>& violations) const {
  const auto& verdict = m_world.m_lives.back().verdict;
  if (!verdict) return;
  const auto may = allowed();
  if (!may.contains(verdict->verdict_class)) {
    std::string names;
    for (const auto one : may) names += fmt::format("{}{}", names.empty() ? "" : " or ", result::name(one));
    violations.push_back(fmt::format("the verdict must be {}, but is {}", names, result::describe(*verdict)));
  }
  if (verdict->verdict_class == Class::succeeded && !any_job_succeeded()) violations.emplace_back("the step says succeeded, but no job has");
  check_first_failure(*verdict, violations);
  check_limit(violations);
}

// However often the step was started again, the limit of 20 minutes is one. A clock jump or an unavailable component may extend it.
void Oracle::check_limit(std::vector<std::string>& violations) const {
  const auto& scenario = m_world.m_scenario;
  if (scenario.script != Script::hangs || !scenario.clock_jumps.empty() || m_world.m_jobs.size() != 1) return;
  const auto& job = m_world.m_jobs.front();
  if (!job.began || !job.removed || !job.deleted_by_step || m_world.m_lives.back().verdict->verdict_class != Class::timeout) return;
  Duration longest = std::chrono::minutes(23) + m_world.m_unattended;
  for (const auto& absence : scenario.absences) longest += absence.length;
  // A node's clock is all that tells how long a container has run that was found running.
  const auto shortest = std::chrono::minutes(20) - Duration{3'000} - (scenario.odd.clocks_differ() ? Duration{150'000} : Duration{0});
  if (scenario.odd.clocks_differ()) longest += std::chrono::minutes(11);
  // Of two clocks that disagree the earlier one says how old a job is, if nothing that was written is later: a step in no pod knows only its job.
  if (!scenario.workflow && scenario.skew < Duration{0}) longest -= scenario.skew;
  if (!scenario.calm) longest += std::chrono::minutes(31);  // a watch that has fallen silent without a word is asked anew after half an hour
  const auto ran = std::chrono::duration_cast<Duration>(*job.removed - *job.began);
  if (ran > longest || ran < shortest)
    violations.push_back(fmt::format("the limit is 20 minutes for running, the job was deleted after {}", trainstep::describe(ran)));
}

void Oracle::check_visit(std::vector<std::string>& violations) const {
  if (!m_world.m_visitor) return;
  const auto& visitor = *m_world.m_visitor;
  for (const auto& request : visitor.network->requests())
    if (!request.what.starts_with("GET ")) violations.push_back("who only attaches has sent: " + request.what);
  for (const auto& line : visitor.life.lines)
    if (line.text.find("of the proxy") != std::string::npos) violations.push_back("attach shows another container's log: " + line.text);
  const auto& verdict = visitor.life.verdict;
  const auto& jobs = m_world.m_jobs;
  // It may have found the next one of that name.
  const auto job = std::ranges::find(jobs, visitor.job, &JobRecord::uid);
  const bool over = std::all_of(job, jobs.end(), [](const JobRecord& one) { return one.gone || one.succeeded || one.failed; });
  if (!verdict) {
    const bool stays =
        m_world.m_scenario.visit->looks_for > std::chrono::hours(24 * 19) && m_world.m_loop.now() - visitor.came > std::chrono::minutes(30);
    if (stays && over && !m_world.api_server_away(m_world.m_loop.now() - std::chrono::minutes(30)))
      violations.emplace_back("the job is over, and attach does not end");
    return;
  }
  const auto its = verdict->verdict_class;
  if (its == Class::interrupted) return;  // it found no job
  const auto& last = m_world.m_lives.back().verdict;
  const bool told = last && last->verdict_class == its;  // by the step, on the job
  if (its != Class::succeeded && its != Class::user && its != Class::system && its != Class::capacity && !told)
    violations.push_back("attach has no limits and no patience of its own, but says: " + result::describe(*verdict));
  if (its == Class::succeeded && !any_job_succeeded()) violations.emplace_back("attach says succeeded, but no job has");
  const auto failed = [](const JobRecord& one) { return one.failed; };
  if ((its == Class::user || its == Class::capacity) && std::ranges::none_of(jobs, failed) && !told)
    violations.push_back("attach says that the job failed, but none has: " + result::describe(*verdict));
  const auto gone = [](const JobRecord& one) { return one.gone || one.failed || one.removed; };
  if (its == Class::system && !m_world.m_scenario.odd.contradicts && std::ranges::none_of(jobs, gone))
    violations.push_back("the job is there and well, but attach says: " + result::describe(*verdict));
}

void Oracle::check_first_failure(const result::Verdict& verdict, std::vector<std::string>& violations) const {
  const auto& scenario = m_world.m_scenario;
  if (scenario.script != Script::user_error || verdict.verdict_class != Class::user) return;
  const auto& first = verdict.first_failure;
  if (!first) return violations.emplace_back("the verdict does not name the replica that failed first"), void();
  if (scenario.odd.clocks_differ()) return;  // the nodes' stamps are all that tells who was the first
  if (first->replica != scenario.victim) violations.push_back(fmt::format("first failed {}, the verdict names {}", scenario.victim, first->replica));
  if (first->exit_code != scenario.exit_code)
    violations.push_back(fmt::format("{} ended with {}, the verdict says {}", scenario.victim, scenario.exit_code,
                                     first->exit_code ? std::to_string(*first->exit_code) : "nothing"));
}

// Lines with " try " in them are unique in their world. Within one life none comes twice, those of one attempt come in their order; of the last
// attempt of the primary replica all come that could be read to the end.
void Oracle::check_lines(std::vector<std::string>& violations) const {
  const auto& written = m_world.m_cluster.kubelet.written();
  std::map<std::string_view, std::size_t> known;
  const auto last_attempt = m_world.m_cluster.kubelet.attempts(m_world.m_scenario.primary) - 1;
  for (std::size_t i = 0; i < written.size(); ++i)
    if (written[i].text.find(" try ") != std::string::npos) known.emplace(written[i].text, i);
  // A log rotated before its attempt was known cannot be distinguished from another.
  std::set<std::pair<std::string, int>> rotated;
  for (const auto& line : written)
    if (line.lost) rotated.emplace(line.replica, line.attempt);
  std::set<std::size_t> printed;
  for (const auto& life : m_world.m_lives) {
    printed.clear();
    std::map<std::pair<std::string, int>, std::size_t> latest;
    for (const auto& line : life.lines) {
      const auto found = known.find(line.text);
      if (found == known.end()) {
        if (line.text.find(" try ") != std::string::npos) violations.push_back("printed, but never written: " + line.text);
        continue;
      }
      const auto& its = written[found->second];
      const bool again = !printed.insert(found->second).second;
      if (again && rotated.contains({its.replica, its.attempt})) continue;
      if (again) violations.push_back(fmt::format("life {}: printed twice: {}", life.number, line.text));
      if (its.replica != line.member) violations.push_back(fmt::format("printed as {}'s: {}", line.member, line.text));
      const auto [before, first] = latest.try_emplace({its.replica, its.attempt}, found->second);
      if (!first && before->second > found->second) violations.push_back(fmt::format("life {}: printed out of order: {}", life.number, line.text));
      before->second = std::max(before->second, found->second);
    }
  }
  const auto& verdict = m_world.m_lives.back().verdict;
  if (!verdict || (verdict->verdict_class != Class::succeeded && verdict->verdict_class != Class::user)) return;
  if (m_world.m_lives.back().signalled || m_world.m_cancelled) return;  // a stopping step does not wait for logs
  const bool whole = m_world.m_scenario.calm && m_world.m_scenario.step_script == StepScript::lives;
  if (m_world.api_server_away(m_world.m_ended)) return;  // that they cannot be read is said
  // What is written after the job's end, by those that have not been stopped yet, may come or not; so may what a list shows that is behind.
  const auto over = m_world.m_jobs.empty() ? Time::max() : m_world.m_jobs.back().ended.value_or(m_world.m_ended);
  const auto end = over - (m_world.m_scenario.odd.behind > 0 ? m_world.m_scenario.odd.list_lag : Duration{0});
  for (const auto& [text, i] : known) {
    const auto& line = written[i];
    const bool due = line.replica == m_world.m_scenario.primary && (whole || line.attempt == last_attempt) && !line.lost &&
                     m_world.m_pods_at_end.contains(line.pod_uid) && line.at <= end;
    if (due && !printed.contains(i)) violations.push_back("never printed: " + line.text);
  }
}

void Oracle::check_requests(std::vector<std::string>& violations) const {
  for (const auto& request : m_world.m_network.requests())
    if (request.blind) violations.push_back("a DELETE without a uid: " + request.what);
}

std::string Oracle::why_not_another() const {
  for (const auto& job : m_world.m_jobs) {
    if (job.deleted_by_world || job.reported || job.lapsed || (job.deleted_by_step && !job.succeeded)) continue;
    return fmt::format("another job is made although {} {}", job.name,
                       job.succeeded ? "has succeeded"
                       : job.failed  ? "has failed unreported"
                                     : "exists");
  }
  return {};
}

bool Oracle::waits_without_pods() const {
  const auto& script = m_world.m_scenario.script;
  return (script == Script::preempted || script == Script::suspended || script == Script::quota_a_while) && m_world.m_cluster.training_pods().empty();
}

void Oracle::check_leaks(std::vector<std::string>& violations) const {
  const auto& scenario = m_world.m_scenario;
  const auto& verdict = m_world.m_lives.back().verdict;
  // Under KFP v2 a cancelled step has no time for a second try, and one that was told twice takes none: the Workflow's end is the backstop
  // (check_empty), or a user who was informed.
  const bool ended_by_itself = verdict && !m_world.m_lives.back().doubts;
  // A refusal that is met twice in ten seconds is the last word.
  const auto& faults = scenario.faults;
  const bool refused = faults.conflict > 0 || faults.astray > 0 || faults.just_started > 0;
  if ((m_world.m_acted || refused) && !scenario.calm && !ended_by_itself) return;
  // Killed in the time that an eviction leaves it, and no attempt follows; or before the outcome of its create was known.
  const bool hard = !scenario.calm || scenario.first_create != FirstCreate::answered || scenario.step_script == StepScript::evicted;
  if (!verdict && m_world.m_acted && hard) return;
  if (m_world.api_server_away(m_world.m_ended)) return;  // that something may still be there is said
  // A client has deleted the job kept for an attempt that never started: operators do not enforce the deadline of a job held by a finalizer.
  if (verdict && verdict->verdict_class == Class::interrupted && scenario.script == Script::deleted_by_somebody && scenario.odd.held_for_ever())
    return;
  // A create of a killed attempt that takes effect after the last attempt has ended: no process can know of it.
  const auto late = [this](const JobRecord& job) { return m_world.m_lives.size() > 1 && job.made > m_world.m_ended; };
  if (std::ranges::any_of(m_world.m_jobs, late)) return;
  for (const auto& pod : m_world.m_cluster.training_pods())
    if (const auto phase = phase_of(*pod); phase == "Running" || phase == "Pending")
      violations.push_back(fmt::format("left behind: pod {} ({})", pod->name(), phase));
  for (const auto& job : m_world.m_jobs) {
    if (job.gone) continue;
    if (const auto live = m_world.m_cluster.store.by_uid(job.uid); scenario.odd.held && live->deleting()) continue;  // a finalizer keeps it
    // Without an operator no deadline is enforced: a job kept for an attempt that never started has no pods, and is deleted with its Workflow.
    const bool left = verdict && verdict->verdict_class == Class::interrupted;
    const bool unheeded = scenario.script == Script::operator_absent && left;
    // The clock of what is left to an attempt that never came stands still while it has no pods: in a queue, or without quota.
    if (unheeded || (left && waits_without_pods())) continue;
    if (!job.succeeded && !job.failed) violations.push_back(fmt::format("left behind: job {}, which is not over", job.name));
    if (job.succeeded && !scenario.workflow && verdict && verdict->verdict_class == Class::succeeded)
      violations.push_back(fmt::format("left behind: job {}, which no Workflow takes along", job.name));
  }
  for (const auto& job : m_world.m_jobs)
    if (job.succeeded && job.deleted_by_step && scenario.workflow && !m_world.m_acted)
      violations.push_back(fmt::format("the step has deleted {}, which has succeeded and belongs to a Workflow", job.name));
  if (scenario.script == Script::stranger && !m_world.m_stranger.empty() && m_world.m_cluster.store.by_uid(m_world.m_stranger) == nullptr)
    violations.emplace_back("the stranger's job was deleted");
}

void Oracle::check_empty(std::vector<std::string>& violations) const {
  if (!m_world.m_scenario.workflow || m_world.m_scenario.odd.held_for_ever()) return;
  const auto& store = m_world.m_cluster.store;
  for (const auto& resource : store.resources()) {
    if (resource.plural == "events" || resource.plural == "workflows") continue;
    for (const auto& object : store.list(resource, ""))
      if (object->uid() != m_world.m_stranger && !object->owned_by(m_world.m_stranger))
        violations.push_back(fmt::format("outlives its Workflow: {} {}", resource.plural, object->name()));
  }
}

}  // namespace trainstep::sim
