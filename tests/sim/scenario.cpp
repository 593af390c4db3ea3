// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace trainstep::sim {
namespace {

constexpr std::array<std::string_view, scripts> script_names = {"succeeds",
                                                                "user error",
                                                                "out of memory",
                                                                "restarts",
                                                                "backoff exhausted",
                                                                "image cannot be pulled",
                                                                "image name invalid",
                                                                "Secret missing",
                                                                "unschedulable for a while",
                                                                "unschedulable",
                                                                "quota for a while",
                                                                "operator absent",
                                                                "webhook denies",
                                                                "webhook down for a while",
                                                                "evicted",
                                                                "node lost",
                                                                "hangs",
                                                                "suspended, then resumed",
                                                                "preempted, then resumed",
                                                                "deleted by somebody",
                                                                "name taken by a stranger",
                                                                "image cannot be pulled for a while",
                                                                "operator restarts",
                                                                "a pod vanishes"};

Duration seconds(std::int64_t count) { return Duration{count * 1000}; }

// Short mostly, long sometimes.
Duration some_time(Random& random) {
  if (random.chance(0.6)) return random.between(seconds(1), seconds(90));
  return random.chance(0.8) ? random.between(seconds(60), seconds(3'600)) : random.between(seconds(3'600), seconds(60'000));
}

void draw_job(Scenario& scenario, Random& random, const ScenarioOverrides& overrides) {
  scenario.kind = overrides.kind.value_or(random.pick<std::string>({"Job", "Job", "PyTorch", "PyTorch", "PyTorch", "MPI", "MPI", "TF", "TF"}));
  scenario.installed.mpi_v2beta1 = overrides.mpi_v2beta1.value_or(random.chance(0.5));
  scenario.workers = static_cast<int>(random.chance(0.9) ? random.between(1, 4) : random.between(5, 12));
  scenario.distribution = {{"distribution_type", scenario.kind}};
  std::vector<std::string> replicas;
  const auto add = [&replicas](const char* type, int from, int count) {
    for (int i = from; i < from + count; ++i) replicas.push_back(fmt::format("{}-{}", type, i));
  };
  if (scenario.kind == "Job") {
    const bool indexed = scenario.workers > 1;
    if (indexed) scenario.distribution["indexed"] = true;
    if (indexed) add("worker", 0, scenario.workers);
    if (!indexed) replicas = {"main"};
  } else if (scenario.kind == "PyTorch") {
    replicas = {"master-0"};
    add("worker", 0, scenario.workers - 1);
  } else if (scenario.kind == "MPI") {
    replicas = {"launcher"};
  } else {
    const bool servers = random.chance(0.5);
    scenario.distribution["number_of_parameter_servers"] = servers ? 1 : 0;
    if (servers) replicas = {"chief-0"};
    add("worker", 0, scenario.workers);
  }
  if (scenario.workers > 1 || scenario.kind != "Job") scenario.distribution["number_of_workers"] = scenario.workers;
  scenario.primary = replicas.front();
  scenario.victim = replicas[static_cast<std::size_t>(random.next() % replicas.size())];
}

// What came to the world later is drawn from a chance of its own, so that the other seeds stay what they were.
constexpr int first_scripts = 21;

void draw_script(Scenario& scenario, Random& random, Random& later, const ScenarioOverrides& overrides) {
  const auto drawn = random.chance(0.25) ? Script::succeeds : static_cast<Script>(random.between(0, first_scripts - 1));
  const bool new_script = later.chance(0.08);
  const auto newer = [&later] {
    if (later.chance(0.6)) return Script::pull_fails_a_while;
    return later.chance(0.4) ? Script::operator_restarts : Script::pod_vanishes;
  };
  scenario.script = overrides.script.value_or(new_script ? newer() : drawn);
  if (scenario.kind == "Job" && scenario.script == Script::operator_absent) scenario.script = Script::user_error;
  scenario.installed.operators_run = scenario.script != Script::operator_absent;
  scenario.exit_code = static_cast<int>(random.chance(0.7) ? random.between(1, 3) : random.between(4, 127));
  scenario.length = random.between(seconds(5), seconds(120)) + (random.chance(0.2) ? some_time(random) : Duration{0});
  scenario.length = overrides.length.value_or(scenario.length);
  scenario.acts_at = random.between(Duration{0}, scenario.length);
  scenario.acts_for = some_time(random);
  if (scenario.script == Script::pull_fails_a_while) scenario.acts_for = later.between(seconds(30), seconds(1'500));
  if (scenario.script == Script::operator_restarts) scenario.acts_for = later.between(seconds(60), seconds(300));
  if (scenario.script == Script::webhook_down_a_while) scenario.acts_for = random.between(seconds(1), seconds(120));
  if (scenario.script == Script::deleted_by_somebody) scenario.acts_at = random.between(seconds(1), scenario.length / 2);
  if (scenario.script == Script::restarts) scenario.options["run_policy"] = {{"restart_policy", "OnFailure"}, {"backoff_limit", 3}};
  if (scenario.script == Script::backoff_exhausted) scenario.options["run_policy"] = {{"restart_policy", "OnFailure"}, {"backoff_limit", 1}};
  if (scenario.script == Script::unschedulable) scenario.options["limits"] = {{"scheduling", "10m"}};
  if (scenario.script == Script::hangs) scenario.options["limits"] = {{"running", "20m"}};
}

void draw_step(Scenario& scenario, Random& random, const ScenarioOverrides& overrides) {
  const auto lot = random.between(0, 9);
  const auto drawn = lot < 5 ? StepScript::lives : lot < 8 ? StepScript::killed : lot == 8 ? StepScript::cancelled : StepScript::evicted;
  scenario.step_script = overrides.kill ? StepScript::killed : overrides.step_script.value_or(drawn);
  scenario.workflow = scenario.step_script != StepScript::lives || random.chance(0.7);
  if (scenario.step_script == StepScript::killed) {
    scenario.kill_at = static_cast<int>(random.between(1, 30));
    scenario.kill_after = random.chance(0.5);
  }
  if (overrides.kill) std::tie(scenario.kill_at, scenario.kill_after) = *overrides.kill;
  scenario.death = random.chance(0.7) ? random.between(Duration{47}, Duration{961}) : seconds(30);
  scenario.token_life = random.chance(0.3) ? seconds(60) : seconds(3'600);
  scenario.token_kept = random.chance(0.5);
  if (random.chance(0.2)) scenario.skew = random.between(seconds(-7'200), seconds(7'200));
}

void draw_faults(Scenario& scenario, Random& random, const ScenarioOverrides& overrides) {
  scenario.calm = overrides.calm.value_or(random.chance(0.3));
  if (scenario.calm) return;
  const auto most = random.pick({0.005, 0.02, 0.02, 0.1});
  auto& faults = scenario.faults;
  for (auto* chance : {&faults.slow, &faults.lost_request, &faults.lost_reply, &faults.swallowed, &faults.cut, &faults.stalled, &faults.too_many,
                       &faults.server_error, &faults.gateway, &faults.twice})
    if (random.chance(0.5)) *chance = most * static_cast<double>(random.between(1, 100)) / 100.0;
  faults.cut *= 5;
  faults.delay = random.pick({Duration{1}, Duration{3}, Duration{40}});
  const auto horizon = scenario.length * 2;
  while (random.chance(0.35))
    scenario.absences.push_back({random.pick({MissingPod::Party::controllers, MissingPod::Party::kubelet, MissingPod::Party::api_server}),
                                 random.between(Duration{0}, horizon), random.between(Duration{100}, seconds(60))});
  if (random.chance(0.1)) scenario.absences.push_back({MissingPod::Party::api_server, random.between(Duration{0}, horizon), some_time(random)});
  while (random.chance(0.2)) scenario.clock_jumps.emplace_back(random.between(Duration{0}, horizon), random.between(seconds(-4'000), seconds(4'000)));
}

// What makes exactly one job hard, and the answer to a signal. From a source of its own: what is drawn before stays what it was.
void draw_hardships(Scenario& scenario, Random random, const ScenarioOverrides& overrides) {
  if (overrides.act) std::tie(scenario.act_at_call, scenario.cancel_next_at) = *overrides.act;
  if (scenario.step_script == StepScript::stopped) scenario.workflow = false;
  if (overrides.simple) return;
  if (!overrides.step_script && !overrides.kill && scenario.step_script == StepScript::lives && !scenario.workflow && random.chance(0.4))
    scenario.step_script = StepScript::stopped;
  if (!overrides.act && !overrides.kill) {
    if (random.chance(0.4)) scenario.act_at_call = static_cast<int>(random.between(1, 14));
    const bool more = scenario.step_script == StepScript::killed || scenario.step_script == StepScript::evicted;
    if (more && random.chance(0.3)) scenario.cancel_next_at = static_cast<int>(random.between(1, 14));
  }
  scenario.cancel = random.pick({Cancel::labelled, Cancel::labelled, Cancel::labelled_late, Cancel::workflow_deleted});
  if (random.chance(0.3)) scenario.workflow_lag = random.between(Duration{10}, Duration{5'000});
  scenario.by_kubelet = random.chance(0.3);
  if (random.chance(0.4)) scenario.cause_lag = random.between(Duration{1}, Duration{3'000});
  if (scenario.step_script == StepScript::evicted) {
    scenario.retry_policy = random.pick<std::string>({"Always", "Always", "OnFailure", "OnError", ""});
    scenario.followed = scenario.retry_policy == "Always" || (!scenario.retry_policy.empty() && random.chance(0.6));
    if (scenario.by_kubelet && scenario.retry_policy == "OnError") scenario.followed = false;
  }
  if (random.chance(0.3)) scenario.no_second = true;
  if (scenario.workflow && random.chance(0.2)) scenario.own_pod = random.pick({OwnPod::cut, OwnPod::unreadable});
  if (overrides.first_create) scenario.first_create = *overrides.first_create;
  if (overrides.first_create || scenario.calm || random.chance(0.6)) return;
  scenario.first_create = random.pick({FirstCreate::lost, FirstCreate::swallowed, FirstCreate::gateway, FirstCreate::late});
  // What a killed process has sent, and takes effect after the next one has cleaned up, cannot be known; the job is deleted with its Workflow.
  const bool cleans_up = scenario.step_script == StepScript::killed || (scenario.step_script == StepScript::evicted && scenario.cancel_next_at > 0);
  if (cleans_up && scenario.first_create == FirstCreate::late) scenario.first_create = FirstCreate::swallowed;
}

void draw_cancel(Scenario& scenario, Random random, const ScenarioOverrides& overrides) {
  if (overrides.simple) return;
  scenario.shutdown = random.pick({Shutdown::terminate, Shutdown::stop, Shutdown::deadline});
  if (random.chance(0.25)) scenario.cancel = Cancel::pod_deleted;
  if (overrides.cancel) scenario.cancel = *overrides.cancel;
  if (scenario.step_script == StepScript::evicted && random.chance(0.3)) scenario.keeping = random.pick({Accident::swallowed, Accident::gateway});
}

// Where nothing goes wrong it has the time to find out that it was lost; in doubt it takes the signal for a cancel.
void draw_outlived(Scenario& scenario, Random random, const ScenarioOverrides& overrides) {
  const bool drawn = !overrides.step_script && !overrides.kill && !overrides.simple && scenario.calm && scenario.workflow && random.chance(0.15);
  if (drawn && scenario.step_script == StepScript::lives) scenario.step_script = StepScript::outlived;
  if (scenario.step_script != StepScript::outlived) return;
  scenario.act_at_call = 0;
  scenario.death = seconds(30);
  scenario.own_pod = OwnPod::known;
  if (!random.chance(0.5)) return;
  scenario.act_at_call = static_cast<int>(random.between(1, 14));
  scenario.cut_off = random.between(Duration{5'000}, Duration{150'000});
}

// Answers to changes that say nothing of their object: rare, in bursts, or every other one.
void draw_misanswers(Scenario& scenario, Random random, const ScenarioOverrides& overrides) {
  if (scenario.calm || overrides.simple) return;
  auto& faults = scenario.faults;
  for (auto* chance : {&faults.conflict, &faults.astray, &faults.unanswered})
    if (random.chance(0.3)) *chance = random.pick({0.02, 0.1, 0.3});
  if (random.chance(0.3)) faults.begs_off = random.pick({0.02, 0.05});  // each costs a quarter of the timeout
  if (random.chance(0.3)) faults.just_started = 0.02;                   // a refusal that lasts for seconds is one
  if (random.chance(0.2)) faults.hollow = random.pick({0.01, 0.05, 0.2});
}

// Of what an account that is no step's may often not do; jobs it may see.
void draw_visit(Scenario& scenario, Random& random) {
  auto& visit = scenario.visit.emplace();
  visit.at = random.chance(0.7) ? random.between(Duration{0}, scenario.length) : random.between(Duration{0}, scenario.length * 3);
  visit.looks_for = random.chance(0.7) ? std::chrono::hours(24 * 20) : random.between(Duration{0}, scenario.length);
  const std::vector<std::vector<std::string>> lots = {{},
                                                      {},
                                                      {"list pods", "watch pods"},
                                                      {"watch pods"},
                                                      {"get pods/log"},
                                                      {"list events", "watch events"},
                                                      {"get pods", "list pods", "watch pods", "get pods/log", "list events", "watch events"}};
  visit.denied = lots[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(lots.size()) - 1))];
  for (const auto* verb : {"create", "patch", "delete"})
    if (random.chance(0.5)) visit.denied.push_back(fmt::format("{} {}", verb, scenario.kind == "Job" ? "jobs" : "mpijobs"));
}

void draw_surroundings(Scenario& scenario, Random& random, const ScenarioOverrides& overrides) {
  scenario.namesake = random.chance(0.15);
  scenario.sidecars = random.chance(0.15);
  scenario.installed.mpi_in_both_versions = scenario.kind == "MPI" && scenario.installed.mpi_v2beta1 && random.chance(0.3);
  if (overrides.visited.value_or(random.chance(0.25))) draw_visit(scenario, random);
  if (scenario.script == Script::hangs && scenario.step_script == StepScript::lives && random.chance(0.6))
    for (auto at = random.between(seconds(10), seconds(600)); at < seconds(1'100); at += random.between(seconds(60), seconds(600)))
      scenario.kills.push_back(at);
}

// Unique in its world, so that each can be counted.
void add_lines(PodScript& script, Random& random, const PodIdentity& who, Duration until) {
  const auto count = random.between(1, 8);
  auto at = Duration{0};
  for (int i = 0; i < count; ++i) {
    at = random.chance(0.3) ? at : random.between(at, until);  // several at one time, too
    script.lines.push_back({at, fmt::format("{} try {} line {} loss={}\n", who.replica, who.attempt, i, random.between(0, 9))});
  }
  if (script.exit_code != 0 && script.end == PodScript::End::exits && script.runs_for) {
    script.lines.push_back({*script.runs_for, "Traceback (most recent call last):\n"});
    script.lines.push_back({*script.runs_for, "  File \"train.py\", line 7, in <module>\n"});
    script.lines.push_back({*script.runs_for, fmt::format("ValueError: {} try {}\n", who.replica, who.attempt)});
  }
}

void harm(const Scenario& scenario, Random& random, const PodIdentity& who, PodScript& script) {
  const auto early = scenario.length / 2;
  const bool fails = scenario.script == Script::user_error || scenario.script == Script::out_of_memory || scenario.script == Script::evicted ||
                     scenario.script == Script::backoff_exhausted;
  if (who.replica != scenario.victim) {
    // The others wait for the one that has gone, or notice it.
    if (fails && script.runs_for && random.chance(0.5)) script.runs_for.reset();
    if (fails && script.runs_for) *script.runs_for = early * 2 + seconds(30);
    return;
  }
  if (fails || (scenario.script == Script::restarts && who.attempt == 0)) {
    script.runs_for = early;
    script.exit_code = scenario.exit_code;
  }
  if (scenario.script == Script::out_of_memory) script.end = PodScript::End::oom;
  if (scenario.script == Script::evicted) script.end = PodScript::End::evicted;
  if (scenario.script == Script::node_lost && who.attempt == 0) {
    script.runs_for = early;
    script.end = PodScript::End::node_lost;
  }
  if (scenario.script == Script::pod_vanishes && who.attempt == 0) {
    script.runs_for = early;
    script.end = PodScript::End::vanishes;
  }
  if (scenario.script == Script::image_pull) script.start = PodScript::Start::image_pull;
  if (scenario.script == Script::pull_fails_a_while) {
    using enum PodScript::Start;
    script.start = random.chance(0.5) ? registry_busy : random.chance(0.5) ? runtime_busy : volume_busy;
    script.starts_after = scenario.acts_for;
  }
  if (scenario.script == Script::invalid_image) script.start = PodScript::Start::invalid_image;
  if (scenario.script == Script::config_missing)
    script.start = random.chance(0.5) ? PodScript::Start::config_missing : PodScript::Start::volume_missing;
  if (scenario.script == Script::unschedulable) script.schedulable.reset();
  if (scenario.script == Script::unschedulable_a_while) script.schedulable = scenario.acts_for;
}

}  // namespace

std::string_view name(Script script) { return script_names.at(static_cast<std::size_t>(script)); }

std::string_view name(StepScript script) {
  switch (script) {
    case StepScript::lives:
      return "lives";
    case StepScript::killed:
      return "is killed";
    case StepScript::cancelled:
      return "is cancelled";
    case StepScript::evicted:
      return "is evicted";
    case StepScript::stopped:
      return "is stopped at its shell";
    case StepScript::outlived:
      return "is lost, and its process lives on";
  }
  return "";
}

std::string Scenario::describe() const {
  std::string more;
  const auto add = [&more](bool holds, const std::string& text) {
    if (holds) more += text;
  };
  add(kill_at != 0, fmt::format(" {} call {}", kill_after ? "after" : "before", kill_at));
  add(act_at_call != 0, fmt::format(" at call {}", act_at_call));
  add(cancel_next_at != 0, fmt::format(", then cancelled at call {}", cancel_next_at));
  const bool cancels = step_script == StepScript::cancelled || cancel_next_at != 0;
  add(cancels && cancel == Cancel::pod_deleted, ", by its pod's deletion");
  add(cancels && shutdown != Shutdown::terminate, shutdown == Shutdown::stop ? ", by a stop" : ", by a deadline");
  add(!workflow, ", no Workflow");
  add(step_script == StepScript::evicted, fmt::format(", retry policy \"{}\", {}", retry_policy, followed ? "followed" : "not followed"));
  add(keeping != Accident::none, keeping == Accident::swallowed ? ", its PATCH has no answer" : ", its PATCH meets a gateway");
  add(by_kubelet && step_script == StepScript::evicted, ", by the kubelet");
  add(first_create != FirstCreate::answered, ", the first create has no answer");
  add(no_second, ", no second job is admitted");
  add(own_pod == OwnPod::cut, ", the pod's name is cut");
  add(own_pod == OwnPod::unreadable, ", the pod may not be read");
  add(calm, ", calm");
  add(visit.has_value(), ", visited");
  add(sidecars, ", sidecars");
  add(namesake, ", namesake");
  more += odd.describe();
  return fmt::format("seed {}: {}{} of {}, {} ({}), the step {}{}", seed, kind, kind == "MPI" ? installed.mpi_v2beta1 ? " v2beta1" : " v1" : "",
                     workers, sim::name(script), victim, sim::name(step_script), more);
}

Scenario draw_scenario(std::uint64_t seed, const ScenarioOverrides& overrides) {
  Random random(seed * 0x2545f4914f6cdd1dU + 1);
  Scenario scenario;
  scenario.seed = seed;
  draw_job(scenario, random, overrides);
  Random later(seed * 0xd1342543de82ef95U + 3);
  draw_script(scenario, random, later, overrides);
  draw_step(scenario, random, overrides);
  draw_faults(scenario, random, overrides);
  draw_hardships(scenario, Random(seed * 0x9e3779b97f4a7c15U + 5), overrides);
  draw_cancel(scenario, Random(seed * 0x94d049bb133111ebU + 11), overrides);
  draw_outlived(scenario, Random(seed * 0xbf58476d1ce4e5b9U + 13), overrides);
  draw_misanswers(scenario, Random(seed * 0xc2b2ae3d27d4eb4fU + 7), overrides);
  draw_surroundings(scenario, later, overrides);
  Random odd(seed * 0x369dea0f31a53f85U + 9);
  if (!scenario.calm && !overrides.simple) scenario.odd = draw_oddities(odd);
  if (overrides.odd) scenario.odd = *overrides.odd;
  if (scenario.calm) scenario.token_kept = false;
  if (overrides.token_life) std::tie(scenario.token_life, scenario.token_kept) = std::pair(*overrides.token_life, true);
  return scenario;
}

PodScript pod_script(const Scenario& scenario, Random& random, const PodIdentity& who) {
  PodScript script;
  script.pulling = random.chance(0.8) ? random.between(Duration{100}, Duration{4'000}) : random.between(seconds(4), seconds(120));
  script.runs_for = scenario.length + random.between(Duration{0}, Duration{500});
  const bool serves = who.replica.starts_with("ps-") || (scenario.kind == "MPI" && who.replica != "launcher");
  if (serves || scenario.script == Script::hangs) script.runs_for.reset();
  script.dies_after = random.chance(0.9) ? random.between(Duration{10}, Duration{3'000}) : seconds(29);
  harm(scenario, random, who, script);
  add_lines(script, random, who, script.runs_for.value_or(scenario.length));
  if (!scenario.calm && random.chance(0.05)) script.rotated = random.between(Duration{0}, scenario.length);
  return script;
}

}  // namespace trainstep::sim
