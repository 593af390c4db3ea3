// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <chrono>

#include "sim/events.h"
#include "sim/naive_step.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;

namespace {

struct Ran {
  std::vector<std::string> violations;
  std::string trace;
  int calls = 0;
  std::size_t jobs = 0, lives = 0;
};

Ran run(std::uint64_t seed, const ScenarioOverrides& overrides, Sins sins = {}) {
  auto simple = overrides;
  simple.simple = true;
  World world(seed, {.overrides = simple, .trace = true, .longest = std::chrono::hours(30)});
  Ran ran;
  ran.violations = world.run([sins](const Context& around) { return std::make_unique<NaiveStep>(around, sins); });
  ran.trace = world.trace();
  ran.calls = world.calls();
  ran.jobs = world.jobs().size();
  ran.lives = world.lives().size();
  return ran;
}

bool found(const Ran& ran, const std::string& what) {
  return std::any_of(ran.violations.begin(), ran.violations.end(), [&](const std::string& one) { return one.find(what) != std::string::npos; });
}

const ScenarioOverrides quiet{.script = Script::succeeds, .step_script = StepScript::lives, .calm = true};

}  // namespace

TEST_CASE("sim world: a naive step satisfies all invariants without faults") {
  for (const auto* kind : {"Job", "PyTorch", "MPI", "TF"})
    for (const auto script : {Script::succeeds, Script::user_error, Script::suspended, Script::preempted, Script::quota_a_while,
                              Script::unschedulable_a_while, Script::deleted_by_somebody, Script::webhook_denies})
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const auto ran = run(seed, {.kind = kind, .script = script, .step_script = StepScript::lives, .calm = true});
        INFO(ran.trace);
        CHECK(ran.violations == std::vector<std::string>{});
        CHECK(ran.jobs == (script == Script::webhook_denies ? 0 : 1));
      }
}

TEST_CASE("sim world: a step that is killed at any call is started again, and one job is enough") {
  for (const bool after : {false, true}) {
    int points = 0;
    for (int call = 1;; ++call) {
      const auto ran = run(5, {.kind = "Job", .script = Script::succeeds, .calm = true, .kill = std::pair{call, after}});
      INFO(ran.trace);
      CHECK(ran.violations == std::vector<std::string>{});
      CHECK(ran.jobs == 1);
      if (ran.lives == 1) break;
      ++points;
    }
    CHECK(points > 5);
  }
}

TEST_CASE("sim world: each broken promise is noticed") {
  auto overrides = quiet;
  overrides.script = Script::user_error;
  CHECK(found(run(1, overrides, {.lies = true}), "the verdict must be user"));
  CHECK(found(run(1, overrides, {.lies = true}), "no job has"));
  CHECK(found(run(1, overrides, {.blames_another = true}), "the verdict names somebody"));
  CHECK(found(run(1, quiet, {.prints_twice = true}), "printed twice"));
  CHECK(found(run(1, quiet, {.skips_a_line = true}), "never printed"));
  CHECK(found(run(1, quiet, {.leaves_job = true}), "the verdict must be succeeded"));
  auto at_shell = quiet;
  at_shell.step_script = StepScript::lives;
  std::uint64_t seed = 1;
  while (draw_scenario(seed, at_shell).workflow) ++seed;
  CHECK(run(seed, at_shell).violations.empty());
  CHECK(found(run(seed, at_shell, {.deletes_blindly = true}), "a DELETE without a uid"));
  CHECK(found(run(seed, at_shell, {.says_too_much = true}), "which is there: the job is deleted"));
  overrides.script = Script::hangs;
  CHECK(found(run(1, overrides, {.leaves_job = true}), "left behind: job"));
  CHECK(found(run(1, overrides), "does not end"));
  CHECK(found(run(1, {.script = Script::succeeds, .calm = true, .kill = std::pair{4, true}}, {.forgets_name = true}), "another job is made"));
}

TEST_CASE("sim world: a cancelled run leaves nothing, an evicted step is followed by another") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto cancelled = run(seed, {.script = Script::succeeds, .step_script = StepScript::cancelled, .calm = true});
    INFO(cancelled.trace);
    CHECK(cancelled.violations == std::vector<std::string>{});
    const auto evicted = run(seed, {.script = Script::succeeds, .step_script = StepScript::evicted, .calm = true});
    INFO(evicted.trace);
    CHECK(evicted.violations == std::vector<std::string>{});
  }
}

TEST_CASE("sim world: a seed gives the same run each time") {
  const ScenarioOverrides quiet{.calm = true};  // the naive step understands no odd answer
  CHECK(run(42, quiet).trace == run(42, quiet).trace);
  CHECK(run(42, quiet).trace != run(43, quiet).trace);
}

// Not run by default: `sim_world "[.speed]"` in a build without sanitizers.
TEST_CASE("sim world: simulation speed", "[.speed]") {
  const auto begin = std::chrono::steady_clock::now();
  constexpr int worlds = 2'000;
  int calls = 0;
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    World world(seed, {.overrides = {.script = Script::succeeds, .step_script = StepScript::lives, .calm = true}});
    world.run([](const Context& around) { return std::make_unique<NaiveStep>(around, Sins{}); });
    calls += world.calls();
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  WARN(took.count() / worlds << " ms for each world, " << calls / worlds << " calls in each");
  CHECK(calls > worlds);
}

TEST_CASE("sim world: seeds cover every fault, and every outcome of a step") {
  std::set<Script> drawn;
  std::set<StepScript> ways;
  std::set<std::string> kinds_drawn;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto scenario = draw_scenario(seed, {});
    drawn.insert(scenario.script);
    ways.insert(scenario.step_script);
    kinds_drawn.insert(scenario.kind);
  }
  CHECK(drawn.size() == scripts);
  CHECK(ways.size() == 6);
  CHECK(kinds_drawn.size() == 4);
}
