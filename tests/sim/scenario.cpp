// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace trainstep::sim {
namespace {

constexpr std::array<std::string_view, fates> fate_names = {"succeeds",
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

void draw_job(Scenario& scenario, Random& random, const Wishes& wishes) {
  scenario.kind = wishes.kind.value_or(random.pick<std::string>({"Job", "Job", "PyTorch", "PyTorch", "PyTorch", "MPI", "MPI", "TF", "TF"}));
  scenario.installed.mpi_v2beta1 = wishes.mpi_v2beta1.value_or(random.chance(0.5));
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
constexpr int first_fates = 21;

void draw_fate(Scenario& scenario, Random& random, Random& later, const Wishes& wishes) {
  const auto drawn = random.chance(0.25) ? Fate::succeeds : static_cast<Fate>(random.between(0, first_fates - 1));
  const bool new_fate = later.chance(0.08);
  const auto newer = [&later] {
    if (later.chance(0.6)) return Fate::pull_fails_a_while;
    return later.chance(0.4) ? Fate::operator_restarts : Fate::pod_vanishes;
  };
  scenario.fate = wishes.fate.value_or(new_fate ? newer() : drawn);
  if (scenario.kind == "Job" && scenario.fate == Fate::operator_absent) scenario.fate = Fate::user_error;
  scenario.installed.operators_run = scenario.fate != Fate::operator_absent;
  scenario.exit_code = static_cast<int>(random.chance(0.7) ? random.between(1, 3) : random.between(4, 127));
  scenario.length = random.between(seconds(5), seconds(120)) + (random.chance(0.2) ? some_time(random) : Duration{0});
  scenario.length = wishes.length.value_or(scenario.length);
  scenario.acts_at = random.between(Duration{0}, scenario.length);
  scenario.acts_for = some_time(random);
  if (scenario.fate == Fate::pull_fails_a_while) scenario.acts_for = later.between(seconds(30), seconds(1'500));
  if (scenario.fate == Fate::operator_restarts) scenario.acts_for = later.between(seconds(60), seconds(300));
  if (scenario.fate == Fate::webhook_down_a_while) scenario.acts_for = random.between(seconds(1), seconds(120));
  if (scenario.fate == Fate::deleted_by_somebody) scenario.acts_at = random.between(seconds(1), scenario.length / 2);
  if (scenario.fate == Fate::restarts) scenario.options["run_policy"] = {{"restart_policy", "OnFailure"}, {"backoff_limit", 3}};
  if (scenario.fate == Fate::backoff_exhausted) scenario.options["run_policy"] = {{"restart_policy", "OnFailure"}, {"backoff_limit", 1}};
  if (scenario.fate == Fate::unschedulable) scenario.options["limits"] = {{"scheduling", "10m"}};
  if (scenario.fate == Fate::hangs) scenario.options["limits"] = {{"running", "20m"}};
}

void draw_step(Scenario& scenario, Random& random, const Wishes& wishes) {
  const auto lot = random.between(0, 9);
  const auto drawn = lot < 5 ? StepFate::lives : lot < 8 ? StepFate::killed : lot == 8 ? StepFate::cancelled : StepFate::evicted;
  scenario.step_fate = wishes.kill ? StepFate::killed : wishes.step_fate.value_or(drawn);
  scenario.workflow = scenario.step_fate != StepFate::lives || random.chance(0.7);
  if (scenario.step_fate == StepFate::killed) {
    scenario.kill_at = static_cast<int>(random.between(1, 30));
    scenario.kill_after = random.chance(0.5);
  }
  if (wishes.kill) std::tie(scenario.kill_at, scenario.kill_after) = *wishes.kill;
  scenario.death = random.chance(0.7) ? random.between(Duration{47}, Duration{961}) : seconds(30);
  scenario.token_life = random.chance(0.3) ? seconds(60) : seconds(3'600);
  scenario.token_kept = random.chance(0.5);
  if (random.chance(0.2)) scenario.skew = random.between(seconds(-7'200), seconds(7'200));
}

void draw_faults(Scenario& scenario, Random& random, const Wishes& wishes) {
  scenario.calm = wishes.calm.value_or(random.chance(0.3));
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
    scenario.absences.push_back({random.pick({Absence::Party::controllers, Absence::Party::kubelet, Absence::Party::api_server}),
                                 random.between(Duration{0}, horizon), random.between(Duration{100}, seconds(60))});
  if (random.chance(0.1)) scenario.absences.push_back({Absence::Party::api_server, random.between(Duration{0}, horizon), some_time(random)});
  while (random.chance(0.2)) scenario.clock_jumps.emplace_back(random.between(Duration{0}, horizon), random.between(seconds(-4'000), seconds(4'000)));
}

// What makes exactly one job hard, and the answer to a signal. From a source of its own: what is drawn before stays what it was.
void draw_hardships(Scenario& scenario, Random random, const Wishes& wishes) {
  if (wishes.act) std::tie(scenario.act_at_call, scenario.cancel_next_at) = *wishes.act;
  if (scenario.step_fate == StepFate::stopped) scenario.workflow = false;
  if (wishes.simple) return;
  if (!wishes.step_fate && !wishes.kill && scenario.step_fate == StepFate::lives && !scenario.workflow && random.chance(0.4))
    scenario.step_fate = StepFate::stopped;
  if (!wishes.act && !wishes.kill) {
    if (random.chance(0.4)) scenario.act_at_call = static_cast<int>(random.between(1, 14));
    const bool more = scenario.step_fate == StepFate::killed || scenario.step_fate == StepFate::evicted;
    if (more && random.chance(0.3)) scenario.cancel_next_at = static_cast<int>(random.between(1, 14));
  }
  scenario.cancel = random.pick({Cancel::labelled, Cancel::labelled, Cancel::labelled_late, Cancel::workflow_deleted});
  if (random.chance(0.3)) scenario.workflow_lag = random.between(Duration{10}, Duration{5'000});
  scenario.by_kubelet = random.chance(0.3);
  if (random.chance(0.4)) scenario.cause_lag = random.between(Duration{1}, Duration{3'000});
  if (scenario.step_fate == StepFate::evicted) {
    scenario.retry_policy = random.pick<std::string>({"Always", "Always", "OnFailure", "OnError", ""});
    scenario.followed = scenario.retry_policy == "Always" || (!scenario.retry_policy.empty() && random.chance(0.6));
    if (scenario.by_kubelet && scenario.retry_policy == "OnError") scenario.followed = false;
  }
  if (random.chance(0.3)) scenario.no_second = true;
  if (scenario.workflow && random.chance(0.2)) scenario.own_pod = random.pick({OwnPod::cut, OwnPod::unreadable});
  if (wishes.first_create) scenario.first_create = *wishes.first_create;
  if (wishes.first_create || scenario.calm || random.chance(0.6)) return;
  scenario.first_create = random.pick({FirstCreate::lost, FirstCreate::swallowed, FirstCreate::gateway, FirstCreate::late});
  // What a killed process has sent, and takes effect after the next one has cleaned up, cannot be known; the job is deleted with its Workflow.
  const bool cleans_up = scenario.step_fate == StepFate::killed || (scenario.step_fate == StepFate::evicted && scenario.cancel_next_at > 0);
  if (cleans_up && scenario.first_create == FirstCreate::late) scenario.first_create = FirstCreate::swallowed;
}

void draw_cancel(Scenario& scenario, Random random, const Wishes& wishes) {
  if (wishes.simple) return;
  scenario.shutdown = random.pick({Shutdown::terminate, Shutdown::stop, Shutdown::deadline});
  if (random.chance(0.25)) scenario.cancel = Cancel::pod_deleted;
  if (wishes.cancel) scenario.cancel = *wishes.cancel;
  if (scenario.step_fate == StepFate::evicted && random.chance(0.3)) scenario.keeping = random.pick({Accident::swallowed, Accident::gateway});
}

// Where nothing goes wrong it has the time to find out that it was lost; in doubt it takes the signal for a cancel.
void draw_outlived(Scenario& scenario, Random random, const Wishes& wishes) {
  const bool drawn = !wishes.step_fate && !wishes.kill && !wishes.simple && scenario.calm && scenario.workflow && random.chance(0.15);
  if (drawn && scenario.step_fate == StepFate::lives) scenario.step_fate = StepFate::outlived;
  if (scenario.step_fate != StepFate::outlived) return;
  scenario.act_at_call = 0;
  scenario.death = seconds(30);
  scenario.own_pod = OwnPod::known;
  if (!random.chance(0.5)) return;
  scenario.act_at_call = static_cast<int>(random.between(1, 14));
  scenario.cut_off = random.between(Duration{5'000}, Duration{150'000});
}

// Answers to changes that say nothing of their object: rare, in bursts, or every other one.
void draw_misanswers(Scenario& scenario, Random random, const Wishes& wishes) {
  if (scenario.calm || wishes.simple) return;
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

void draw_surroundings(Scenario& scenario, Random& random, const Wishes& wishes) {
  scenario.namesake = random.chance(0.15);
  scenario.sidecars = random.chance(0.15);
  scenario.installed.mpi_in_both_versions = scenario.kind == "MPI" && scenario.installed.mpi_v2beta1 && random.chance(0.3);
  if (wishes.visited.value_or(random.chance(0.25))) draw_visit(scenario, random);
  if (scenario.fate == Fate::hangs && scenario.step_fate == StepFate::lives && random.chance(0.6))
    for (auto at = random.between(seconds(10), seconds(600)); at < seconds(1'100); at += random.between(seconds(60), seconds(600)))
      scenario.kills.push_back(at);
}

// Unique in its world, so that each can be counted.
void add_lines(PodFate& fate, Random& random, const PodIdentity& who, Duration until) {
  const auto count = random.between(1, 8);
  auto at = Duration{0};
  for (int i = 0; i < count; ++i) {
    at = random.chance(0.3) ? at : random.between(at, until);  // several at one time, too
    fate.lines.push_back({at, fmt::format("{} try {} line {} loss={}\n", who.replica, who.attempt, i, random.between(0, 9))});
  }
  if (fate.exit_code != 0 && fate.end == PodFate::End::exits && fate.runs_for) {
    fate.lines.push_back({*fate.runs_for, "Traceback (most recent call last):\n"});
    fate.lines.push_back({*fate.runs_for, "  File \"train.py\", line 7, in <module>\n"});
    fate.lines.push_back({*fate.runs_for, fmt::format("ValueError: {} try {}\n", who.replica, who.attempt)});
  }
}

void harm(const Scenario& scenario, Random& random, const PodIdentity& who, PodFate& fate) {
  const auto early = scenario.length / 2;
  const bool fails = scenario.fate == Fate::user_error || scenario.fate == Fate::out_of_memory || scenario.fate == Fate::evicted ||
                     scenario.fate == Fate::backoff_exhausted;
  if (who.replica != scenario.victim) {
    // The others wait for the one that has gone, or notice it.
    if (fails && fate.runs_for && random.chance(0.5)) fate.runs_for.reset();
    if (fails && fate.runs_for) *fate.runs_for = early * 2 + seconds(30);
    return;
  }
  if (fails || (scenario.fate == Fate::restarts && who.attempt == 0)) {
    fate.runs_for = early;
    fate.exit_code = scenario.exit_code;
  }
  if (scenario.fate == Fate::out_of_memory) fate.end = PodFate::End::oom;
  if (scenario.fate == Fate::evicted) fate.end = PodFate::End::evicted;
  if (scenario.fate == Fate::node_lost && who.attempt == 0) {
    fate.runs_for = early;
    fate.end = PodFate::End::node_lost;
  }
  if (scenario.fate == Fate::pod_vanishes && who.attempt == 0) {
    fate.runs_for = early;
    fate.end = PodFate::End::vanishes;
  }
  if (scenario.fate == Fate::image_pull) fate.start = PodFate::Start::image_pull;
  if (scenario.fate == Fate::pull_fails_a_while) {
    using enum PodFate::Start;
    fate.start = random.chance(0.5) ? registry_busy : random.chance(0.5) ? runtime_busy : volume_busy;
    fate.starts_after = scenario.acts_for;
  }
  if (scenario.fate == Fate::invalid_image) fate.start = PodFate::Start::invalid_image;
  if (scenario.fate == Fate::config_missing) fate.start = random.chance(0.5) ? PodFate::Start::config_missing : PodFate::Start::volume_missing;
  if (scenario.fate == Fate::unschedulable) fate.schedulable.reset();
  if (scenario.fate == Fate::unschedulable_a_while) fate.schedulable = scenario.acts_for;
}

}  // namespace

std::string_view name(Fate fate) { return fate_names.at(static_cast<std::size_t>(fate)); }

std::string_view name(StepFate fate) {
  switch (fate) {
    case StepFate::lives:
      return "lives";
    case StepFate::killed:
      return "is killed";
    case StepFate::cancelled:
      return "is cancelled";
    case StepFate::evicted:
      return "is evicted";
    case StepFate::stopped:
      return "is stopped at its shell";
    case StepFate::outlived:
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
  const bool cancels = step_fate == StepFate::cancelled || cancel_next_at != 0;
  add(cancels && cancel == Cancel::pod_deleted, ", by its pod's deletion");
  add(cancels && shutdown != Shutdown::terminate, shutdown == Shutdown::stop ? ", by a stop" : ", by a deadline");
  add(!workflow, ", no Workflow");
  add(step_fate == StepFate::evicted, fmt::format(", retry policy \"{}\", {}", retry_policy, followed ? "followed" : "not followed"));
  add(keeping != Accident::none, keeping == Accident::swallowed ? ", its PATCH has no answer" : ", its PATCH meets a gateway");
  add(by_kubelet && step_fate == StepFate::evicted, ", by the kubelet");
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
                     workers, sim::name(fate), victim, sim::name(step_fate), more);
}

Scenario draw_scenario(std::uint64_t seed, const Wishes& wishes) {
  Random random(seed * 0x2545f4914f6cdd1dU + 1);
  Scenario scenario;
  scenario.seed = seed;
  draw_job(scenario, random, wishes);
  Random later(seed * 0xd1342543de82ef95U + 3);
  draw_fate(scenario, random, later, wishes);
  draw_step(scenario, random, wishes);
  draw_faults(scenario, random, wishes);
  draw_hardships(scenario, Random(seed * 0x9e3779b97f4a7c15U + 5), wishes);
  draw_cancel(scenario, Random(seed * 0x94d049bb133111ebU + 11), wishes);
  draw_outlived(scenario, Random(seed * 0xbf58476d1ce4e5b9U + 13), wishes);
  draw_misanswers(scenario, Random(seed * 0xc2b2ae3d27d4eb4fU + 7), wishes);
  draw_surroundings(scenario, later, wishes);
  Random odd(seed * 0x369dea0f31a53f85U + 9);
  if (!scenario.calm && !wishes.simple) scenario.odd = draw_oddities(odd);
  if (wishes.odd) scenario.odd = *wishes.odd;
  if (scenario.calm) scenario.token_kept = false;
  if (wishes.token_life) std::tie(scenario.token_life, scenario.token_kept) = std::pair(*wishes.token_life, true);
  return scenario;
}

PodFate pod_fate(const Scenario& scenario, Random& random, const PodIdentity& who) {
  PodFate fate;
  fate.pulling = random.chance(0.8) ? random.between(Duration{100}, Duration{4'000}) : random.between(seconds(4), seconds(120));
  fate.runs_for = scenario.length + random.between(Duration{0}, Duration{500});
  const bool serves = who.replica.starts_with("ps-") || (scenario.kind == "MPI" && who.replica != "launcher");
  if (serves || scenario.fate == Fate::hangs) fate.runs_for.reset();
  fate.dies_after = random.chance(0.9) ? random.between(Duration{10}, Duration{3'000}) : seconds(29);
  harm(scenario, random, who, fate);
  add_lines(fate, random, who, fate.runs_for.value_or(scenario.length));
  if (!scenario.calm && random.chance(0.05)) fate.rotated = random.between(Duration{0}, scenario.length);
  return fate;
}

}  // namespace trainstep::sim
