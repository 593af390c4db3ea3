// The one source of chance of a simulated world: the same seed draws the same world on every machine and compiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/time.h"

namespace trainstep::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}

  // splitmix64
  std::uint64_t next() {
    auto x = m_state += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
  // Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  Duration between(Duration low, Duration high) { return Duration{between(low.count(), high.count())}; }
  bool chance(double probability) { return static_cast<double>(next() >> 11U) * 0x1.0p-53 < probability; }
  template <typename T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[static_cast<std::size_t>(next() % of.size())];
  }
  // As Kubernetes names pods: consonants and digits.
  std::string suffix(std::size_t length = 5) {
    constexpr char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    std::string result;
    while (result.size() < length) result += letters[next() % (sizeof letters - 1)];
    return result;
  }
  std::string uid();
  // A source of its own, so that what is drawn there does not change what is drawn here.
  Random split() { return Random(next()); }

 private:
  std::uint64_t m_state;
};

inline std::string Random::uid() {
  constexpr char digits[] = "0123456789abcdef";
  std::string result(36, '-');
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i % 16 == 0) bits = next();
    if (i == 8 || i == 13 || i == 18 || i == 23) continue;
    result[i] = digits[bits & 15U];
    bits >>= 4U;
  }
  result[14] = '4';
  return result;
}

}  // namespace trainstep::sim
