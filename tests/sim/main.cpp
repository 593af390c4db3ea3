// sim [--first SEED] [--seeds N] [--until-violated] | --seed SEED | --kills | --serve: the whole step against the simulated world.
//   --seeds N   that many seeds from --first on (default 1); a violated promise is told, the first ones with their stories, and is exit code 1
//   --until-violated   … and the first one is the end
//   --seed S    this one alone, with everything that happened
//   --kills     instead: every kind, killed before and after each of its API calls, where nothing else goes wrong
//   --serve     instead: its API server alone, at standard input and output (serve.h)
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/real_step.h"
#include "sim/serve.h"
#include "sim/world.h"

using namespace trainstep;
using namespace trainstep::sim;

namespace {

constexpr int most_stories = 2;

// True: every promise was kept.
bool live(std::uint64_t seed, const Wishes& wishes, bool story) {
  World world(seed, {.wishes = wishes, .story = story});
  const auto violations = world.run(real_step);
  if (violations.empty() && !story) return true;
  if (story) std::printf("%s\n", world.story().c_str());
  for (const auto& violation : violations) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
  if (!violations.empty() && story) std::printf("again: tools/sim.sh --seed %llu\n\n", static_cast<unsigned long long>(seed));
  return violations.empty();
}

int run_seeds(std::uint64_t first, std::uint64_t seeds, bool stop_at_first) {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t failed = 0;
  for (auto seed = first; seed < first + seeds; ++seed) {
    if (live(seed, {}, false)) continue;
    if (++failed <= most_stories) live(seed, {}, true);
    if (stop_at_first) break;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds from %llu, %llu with a violated promise, %.0f a second\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(failed), static_cast<double>(seeds) / took.count());
  return failed == 0 ? 0 : 1;
}

int run_kills() {
  int points = 0, failed = 0;
  for (const std::string kind : {"Job", "PyTorch", "MPI", "MPI v1", "TF"}) {
    for (const auto fate : {Fate::succeeds, Fate::user_error}) {
      for (const bool after : {false, true}) {
        for (int call = 1;; ++call) {
          Wishes wishes{.kind = kind.substr(0, kind.find(' ')), .fate = fate, .calm = true, .kill = std::pair{call, after}};
          if (kind.starts_with("MPI")) wishes.mpi_v2beta1 = kind == "MPI";
          World world(5, {.wishes = wishes});
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

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, seeds = 1'000;
  bool stop_at_first = false;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = i + 1 < words.size() ? std::strtoull(words[i + 1].c_str(), nullptr, 10) : 0;
    if (words[i] == "--kills") return run_kills();
    if (words[i] == "--serve") return serve(std::cin, std::cout), 0;
    if (words[i] == "--seed") return live(value, {}, true) ? 0 : 1;
    if (words[i] == "--until-violated") stop_at_first = true;
    if (words[i] == "--first") first = value;
    if (words[i] == "--seeds") seeds = value;
  }
  return run_seeds(first, seeds, stop_at_first);
}
