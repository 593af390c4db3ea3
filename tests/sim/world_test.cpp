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
  std::string story;
  int calls = 0;
  std::size_t jobs = 0, lives = 0;
};

Ran run(std::uint64_t seed, const Wishes& wishes, Sins sins = {}) {
  auto simple = wishes;
  simple.simple = true;
  World world(seed, {.wishes = simple, .story = true, .longest = std::chrono::hours(30)});
  Ran ran;
  ran.violations = world.run([sins](const Context& around) { return std::make_unique<NaiveStep>(around, sins); });
  ran.story = world.story();
  ran.calls = world.calls();
  ran.jobs = world.jobs().size();
  ran.lives = world.lives().size();
  return ran;
}

bool found(const Ran& ran, const std::string& what) {
  return std::any_of(ran.violations.begin(), ran.violations.end(), [&](const std::string& one) { return one.find(what) != std::string::npos; });
}

const Wishes quiet{.fate = Fate::succeeds, .step_fate = StepFate::lives, .calm = true};

}  // namespace

TEST_CASE("sim world: a naive step satisfies all invariants without faults") {
  for (const auto* kind : {"Job", "PyTorch", "MPI", "TF"})
    for (const auto fate : {Fate::succeeds, Fate::user_error, Fate::suspended, Fate::preempted, Fate::quota_a_while, Fate::unschedulable_a_while,
                            Fate::deleted_by_somebody, Fate::webhook_denies})
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const auto ran = run(seed, {.kind = kind, .fate = fate, .step_fate = StepFate::lives, .calm = true});
        INFO(ran.story);
        CHECK(ran.violations == std::vector<std::string>{});
        CHECK(ran.jobs == (fate == Fate::webhook_denies ? 0 : 1));
      }
}

TEST_CASE("sim world: a step that is killed at any call is started again, and one job is enough") {
  for (const bool after : {false, true}) {
    int points = 0;
    for (int call = 1;; ++call) {
      const auto ran = run(5, {.kind = "Job", .fate = Fate::succeeds, .calm = true, .kill = std::pair{call, after}});
      INFO(ran.story);
      CHECK(ran.violations == std::vector<std::string>{});
      CHECK(ran.jobs == 1);
      if (ran.lives == 1) break;
      ++points;
    }
    CHECK(points > 5);
  }
}

TEST_CASE("sim world: each broken promise is noticed") {
  auto wishes = quiet;
  wishes.fate = Fate::user_error;
  CHECK(found(run(1, wishes, {.lies = true}), "the verdict must be user"));
  CHECK(found(run(1, wishes, {.lies = true}), "no job has"));
  CHECK(found(run(1, wishes, {.blames_another = true}), "the verdict names somebody"));
  CHECK(found(run(1, quiet, {.prints_twice = true}), "printed twice"));
  CHECK(found(run(1, quiet, {.skips_a_line = true}), "never printed"));
  CHECK(found(run(1, quiet, {.leaves_job = true}), "the verdict must be succeeded"));
  auto at_shell = quiet;
  at_shell.step_fate = StepFate::lives;
  std::uint64_t seed = 1;
  while (draw_scenario(seed, at_shell).workflow) ++seed;
  CHECK(run(seed, at_shell).violations.empty());
  CHECK(found(run(seed, at_shell, {.deletes_blindly = true}), "a DELETE without a uid"));
  CHECK(found(run(seed, at_shell, {.says_too_much = true}), "which is there: the job is deleted"));
  wishes.fate = Fate::hangs;
  CHECK(found(run(1, wishes, {.leaves_job = true}), "left behind: job"));
  CHECK(found(run(1, wishes), "does not end"));
  CHECK(found(run(1, {.fate = Fate::succeeds, .calm = true, .kill = std::pair{4, true}}, {.forgets_name = true}), "another job is made"));
}

TEST_CASE("sim world: a cancelled run leaves nothing, an evicted step is followed by another") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto cancelled = run(seed, {.fate = Fate::succeeds, .step_fate = StepFate::cancelled, .calm = true});
    INFO(cancelled.story);
    CHECK(cancelled.violations == std::vector<std::string>{});
    const auto evicted = run(seed, {.fate = Fate::succeeds, .step_fate = StepFate::evicted, .calm = true});
    INFO(evicted.story);
    CHECK(evicted.violations == std::vector<std::string>{});
  }
}

TEST_CASE("sim world: a seed gives the same run each time") {
  const Wishes quiet{.calm = true};  // the naive step understands no odd answer
  CHECK(run(42, quiet).story == run(42, quiet).story);
  CHECK(run(42, quiet).story != run(43, quiet).story);
}

// Not run by default: `sim_world "[.speed]"` in a build without sanitizers.
TEST_CASE("sim world: simulation speed", "[.speed]") {
  const auto begin = std::chrono::steady_clock::now();
  constexpr int worlds = 2'000;
  int calls = 0;
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    World world(seed, {.wishes = {.fate = Fate::succeeds, .step_fate = StepFate::lives, .calm = true}});
    world.run([](const Context& around) { return std::make_unique<NaiveStep>(around, Sins{}); });
    calls += world.calls();
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  WARN(took.count() / worlds << " ms for each world, " << calls / worlds << " calls in each");
  CHECK(calls > worlds);
}

TEST_CASE("sim world: seeds cover every fault, and every outcome of a step") {
  std::set<Fate> drawn;
  std::set<StepFate> ways;
  std::set<std::string> kinds_drawn;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto scenario = draw_scenario(seed, {});
    drawn.insert(scenario.fate);
    ways.insert(scenario.step_fate);
    kinds_drawn.insert(scenario.kind);
  }
  CHECK(drawn.size() == fates);
  CHECK(ways.size() == 6);
  CHECK(kinds_drawn.size() == 4);
}
