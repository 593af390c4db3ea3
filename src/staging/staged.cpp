// SPDX-License-Identifier: Apache-2.0
#include "staging/staged.h"

#include <fmt/format.h>

#include <array>

namespace trainstep::staging {

std::string describe_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  constexpr double step = 1000;
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= step && unit + 1 < units.size()) {
    number /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", number, units.at(unit));
}

std::string describe(const Staged& staged) {
  const auto there = staged.equal == 0 ? std::string() : fmt::format(", {} {} already there", staged.equal, staged.equal == 1 ? "was" : "were");
  return fmt::format("{} file{}, {} in {}{}", staged.files, staged.files == 1 ? "" : "s", describe_bytes(staged.bytes),
                     trainstep::describe(staged.took), there);
}

}  // namespace trainstep::staging
