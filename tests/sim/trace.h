// An event trace of a world, for debugging a failing seed. Costs nothing unless enabled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "sim/sim_loop.h"

namespace trainstep::sim {

class Trace {
 public:
  Trace(const SimLoop& loop, bool wanted) : m_loop(loop), m_wanted(wanted), m_begin(loop.now()) {}
  template <typename... Arguments>
  void log(std::string_view who, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (!m_wanted) return;
    const auto passed = m_loop.now() - m_begin;
    m_text += fmt::format("{:>12.3f} s  {:<9} {}\n", static_cast<double>(passed.count()) / 1000.0, who,
                          fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[nodiscard]] bool wanted() const { return m_wanted; }
  [[nodiscard]] const std::string& text() const { return m_text; }

 private:
  const SimLoop& m_loop;
  bool m_wanted;
  Time m_begin;
  std::string m_text;
};

}  // namespace trainstep::sim
