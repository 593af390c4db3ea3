// Many seeds, one after another: what the simulators' command lines share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace trainstep::sim {

struct Lived {
  std::vector<std::string> violations;
  std::string trace;  // if it was wanted
};
using Live = std::function<Lived(std::uint64_t seed, bool trace)>;

// True: every promise was kept. `again`: the command that shows it.
inline bool live_one(const Live& live, std::uint64_t seed, bool trace, const char* again) {
  const auto lived = live(seed, trace);
  if (trace) std::printf("%s\n", lived.trace.c_str());
  for (const auto& violation : lived.violations) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
  if (!lived.violations.empty() && trace) std::printf("again: %s --seed %llu\n\n", again, static_cast<unsigned long long>(seed));
  return lived.violations.empty();
}

// [--first SEED] [--seeds N] [--until-violated] | --seed SEED → the exit code. A violated promise is told, the first ones with their stories.
inline int run_seeds(const std::vector<std::string>& words, const Live& live, const char* again) {
  constexpr int max_stories = 2;
  std::uint64_t first = 1, seeds = 1'000, failed = 0;
  bool stop_at_first = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = i + 1 < words.size() ? std::strtoull(words[i + 1].c_str(), nullptr, 10) : 0;
    if (words[i] == "--seed") return live_one(live, value, true, again) ? 0 : 1;
    if (words[i] == "--until-violated") stop_at_first = true;
    if (words[i] == "--first") first = value;
    if (words[i] == "--seeds") seeds = value;
  }
  const auto begin = std::chrono::steady_clock::now();
  for (auto seed = first; seed < first + seeds; ++seed) {
    if (live_one(live, seed, false, again)) continue;
    if (++failed <= max_stories) live_one(live, seed, true, again);
    if (stop_at_first) break;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds from %llu, %llu with a violated promise, %.0f a second\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(failed), static_cast<double>(seeds) / took.count());
  return failed == 0 ? 0 : 1;
}

}  // namespace trainstep::sim
