// Collects the actions that follow from one event, in the order in which they are to be carried out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "follow/event.h"

namespace trainstep::follow {

class Actions {
 public:
  template <typename Order>
  void add(Order order) {
    m_actions.emplace_back(std::move(order));
  }
  void info(std::string text) { add(LogMessage{std::move(text)}); }
  void warn(std::string text) { add(LogMessage{std::move(text), true}); }
  // Without a delay nothing is started: what has no limit has no timer.
  void start_timer(int timer, const std::optional<Duration>& delay) {
    if (delay) add(SetTimer{timer, *delay});
  }
  std::vector<Action> take() { return std::exchange(m_actions, {}); }

 private:
  std::vector<Action> m_actions;
};

}  // namespace trainstep::follow
