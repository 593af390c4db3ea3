// sim [--burst] [--first SEED] [--seeds N] [--until-violated] | [--burst] --seed SEED | --kills [--odd] | --cancels [--odd] | --serve: the whole step
// against the simulated world.
//   --burst     a step whose job goes to one of two other clusters (burst_world.h)
//   --seeds N   that many seeds from --first on (default 1); a violated promise is told, the first ones with their stories, and is exit code 1
//   --until-violated   … and the first one is the end
//   --seed S    this one alone, with everything that happened
//   --kills     instead: every kind, killed before and after each of its API calls, where nothing else goes wrong
//   --cancels   instead: every kind, cancelled, evicted and stopped at each of its API calls, and cancelled at each call of the attempt after that
//   --odd       … in a cluster where an API server is behind, watches are brief, and a status is strange
//   --serve     instead: its API server alone, at standard input and output (serve.h)
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "sim/burst_world.h"
#include "sim/real_step.h"
#include "sim/seeds.h"
#include "sim/serve.h"
#include "sim/world.h"

using namespace trainstep;
using namespace trainstep::sim;

namespace {

Oddities oddities() {
  Oddities odd;
  odd.behind = odd.brief = 0.5;
  odd.list_lag = odd.watch_lag = Duration{3'000};
  odd.get_lag = Duration{400};
  odd.strange_status = true;
  return odd;
}

int run_kills(const std::optional<Oddities>& odd) {
  int points = 0, failed = 0;
  for (const std::string kind : {"Job", "PyTorch", "MPI", "MPI v1", "TF"}) {
    for (const auto script : {Script::succeeds, Script::user_error}) {
      for (const bool after : {false, true}) {
        for (int call = 1;; ++call) {
          ScenarioOverrides overrides{
              .kind = kind.substr(0, kind.find(' ')), .script = script, .calm = true, .kill = std::pair{call, after}, .odd = odd};
          if (kind.starts_with("MPI")) overrides.mpi_v2beta1 = kind == "MPI";
          World world(5, {.overrides = overrides});
          const auto violations = world.run(real_step);
          for (const auto& violation : violations)
            std::printf("%s, killed %s call %d: %s\n", kind.c_str(), after ? "after" : "before", call, violation.c_str());
          failed += violations.empty() ? 0 : 1;
          if (world.lives().size() == 1) break;
          ++points;
        }
      }
    }
  }
  std::printf("%d kill points, %d with a violated promise\n", points, failed);
  return failed == 0 && points > 0 ? 0 : 1;
}

// One point; false: the step had ended before it.
struct Points {
  std::optional<Oddities> odd;
  int lived = 0, failed = 0;
  std::optional<Cancel> cancel = {};
  bool live(const std::string& kind, StepScript step_script, std::pair<int, int> act, int first_create) {
    ScenarioOverrides overrides{
        .kind = kind.substr(0, kind.find(' ')), .script = Script::hangs, .step_script = step_script, .calm = true, .act = act, .odd = odd};
    if (kind.starts_with("MPI")) overrides.mpi_v2beta1 = kind == "MPI";
    overrides.cancel = cancel;
    overrides.first_create = static_cast<FirstCreate>(first_create);
    World world(5, {.overrides = overrides});
    const auto violations = world.run(real_step);
    for (const auto& violation : violations) std::printf("%s: %s\n", world.scenario().describe().c_str(), violation.c_str());
    failed += violations.empty() ? 0 : 1;
    ++lived;
    return world.calls_of_life(act.second == 0 ? 0 : 1) >= (act.second == 0 ? act.first : act.second);
  }
};

int run_cancels(const std::optional<Oddities>& odd) {
  Points points{.odd = odd};
  for (const std::string kind : {"Job", "PyTorch", "MPI", "MPI v1", "TF"})
    for (const auto step_script : {StepScript::cancelled, StepScript::evicted, StepScript::stopped})
      for (int create = 0; create <= static_cast<int>(FirstCreate::late); ++create) {
        points.cancel = {};
        for (int call = 1; call < 100 && points.live(kind, step_script, {call, 0}, create);) ++call;
        points.cancel = Cancel::pod_deleted;
        if (step_script == StepScript::cancelled)
          for (int call = 1; call < 100 && points.live(kind, step_script, {call, 0}, create);) ++call;
        if (step_script != StepScript::evicted) continue;
        for (int call = 1; call < 100 && points.live(kind, step_script, {12, call}, create);) ++call;
      }
  std::printf("%d cancel points, %d with a violated promise\n", points.lived, points.failed);
  return points.failed == 0 && points.lived > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_odd = std::ranges::find(words, "--odd") != words.end();
  const auto odd = is_odd ? std::optional(oddities()) : std::nullopt;
  for (const auto& word : words) {
    if (word == "--kills") return run_kills(odd);
    if (word == "--cancels") return run_cancels(odd);
    if (word == "--serve") return serve(std::cin, std::cout), 0;
  }
  if (std::ranges::find(words, "--burst") != words.end())
    return run_seeds(
        words,
        [](std::uint64_t seed, bool trace) {
          BurstWorld world(seed, trace);
          auto violations = world.run();
          return Lived{std::move(violations), world.story()};
        },
        "tools/sim.sh --burst");
  const Live live = [](std::uint64_t seed, bool trace) {
    World world(seed, {.overrides = {}, .trace = trace});
    auto violations = world.run(real_step, real_visitor);
    return Lived{std::move(violations), world.trace()};
  };
  return run_seeds(words, live, "tools/sim.sh");
}
