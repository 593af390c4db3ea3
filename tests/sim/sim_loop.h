// Virtual time: the world's loop, which everything runs on, and the view of it that one life of the step has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/loop.h"

namespace trainstep::sim {

class SimLoop : public Loop {
 public:
  [[nodiscard]] Time now() const override { return m_now; }
  TimerId start(Duration delay, std::function<void()> done) override {
    const auto at = m_now + std::max(delay, Duration{0});
    m_due.emplace(m_next, at);
    m_timers.emplace(std::pair{at, m_next}, std::move(done));
    return m_next++;
  }
  void cancel(TimerId timer) override {
    const auto due = m_due.find(timer);
    if (due == m_due.end()) return;
    m_timers.erase({due->second, timer});
    m_due.erase(due);
  }
  void post(std::function<void()> task) override { after(Duration{0}, std::move(task)); }

  // The timer whose task runs now, or ran last.
  [[nodiscard]] TimerId running() const { return m_running; }
  // Runs the next task if it is due by `last`; false: there is none, and time stands at `last`.
  bool step(Time last) {
    if (m_timers.empty() || m_timers.begin()->first.first > last) {
      m_now = std::max(m_now, last);
      return false;
    }
    auto timer = m_timers.extract(m_timers.begin());
    m_due.erase(timer.key().second);
    m_now = timer.key().first;
    m_running = timer.key().second;
    timer.mapped()();
    return true;
  }
  void run_for(Duration duration) {
    for (const auto last = m_now + duration; step(last);) {
    }
  }

 private:
  Time m_now{std::chrono::hours(24 * 365 * 56)};
  TimerId m_next = 1;
  TimerId m_running = 0;
  std::map<std::pair<Time, TimerId>, std::function<void()>> m_timers;
  std::unordered_map<TimerId, Time> m_due;
};

// One life of the step: its wall clock may be wrong and may jump; when it dies, nothing of it runs any more.
class StepLoop : public Loop {
 public:
  StepLoop(SimLoop& world, Duration skew) : m_world(world), m_skew(skew) {}
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;
  ~StepLoop() override { die(); }

  [[nodiscard]] Time now() const override { return m_world.now() + m_skew; }
  TimerId start(Duration delay, std::function<void()> done) override {
    if (m_dead) return ~TimerId{0};
    const auto id = m_world.start(delay, [this, done = std::move(done)] {
      m_own.erase(m_world.running());
      done();
    });
    m_own.insert(id);
    return id;
  }
  void cancel(TimerId timer) override {
    if (m_own.erase(timer) != 0) m_world.cancel(timer);
  }
  void post(std::function<void()> task) override { after(Duration{0}, std::move(task)); }

  void jump(Duration by) { m_skew += by; }
  [[nodiscard]] bool dead() const { return m_dead; }
  void die() {
    m_dead = true;
    for (const auto timer : m_own) m_world.cancel(timer);
    m_own.clear();
  }

 private:
  SimLoop& m_world;
  Duration m_skew;
  bool m_dead = false;
  std::unordered_set<TimerId> m_own;
};

}  // namespace trainstep::sim
