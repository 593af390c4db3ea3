// The loop of one process: linear code runs it, and may die in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/running_loop.h"
#include "sim/sim_loop.h"

namespace trainstep::sim::data {

// SIGKILL. Thrown from run(), so that the waiting code is unwound; effects of destructors must not be visible to the world.
struct Killed {};
// Nothing will ever come, or it never ends.
struct Stuck {
  std::string why;
};

class Life : public RunningLoop {
 public:
  // `latest`: when it must be over.
  Life(SimLoop& world, Time latest) : m_world(world), m_latest(latest) {}
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() override { die(); }

  [[nodiscard]] Time now() const override { return m_world.now(); }
  TimerId start(Duration delay, std::function<void()> done) override {
    if (m_dead) return ~TimerId{0};
    const auto id = m_world.start(delay, [this, done = std::move(done)] {
      m_own.erase(m_world.running());
      ++m_tasks;
      done();
    });
    m_own.insert(id);
    return id;
  }
  void cancel(TimerId timer) override {
    if (m_own.erase(timer) != 0) m_world.cancel(timer);
  }
  void post(std::function<void()> task) override { after(Duration{0}, std::move(task)); }
  void stop() override { m_stopped = true; }
  void run() override {
    for (m_stopped = false; !m_stopped;) {
      if (m_doomed || (m_last_task && m_tasks >= *m_last_task)) {
        m_end();
        die();
        throw Killed{};
      }
      if (!m_world.step(m_latest)) throw Stuck{m_own.empty() ? "it waits for nothing" : "it does not come to an end"};
    }
  }

  // It dies now (before its next task), or after so many tasks of its own.
  void doom() { m_doomed = true; }
  void doom_after(int tasks) { m_last_task = tasks; }
  // Called at the moment of its death.
  void on_end(std::function<void()> end) { m_end = std::move(end); }
  [[nodiscard]] bool doomed() const { return m_doomed; }

 private:
  void die() {
    m_dead = true;
    for (const auto timer : m_own) m_world.cancel(timer);
    m_own.clear();
  }

  SimLoop& m_world;
  Time m_latest;
  bool m_stopped = false, m_doomed = false, m_dead = false;
  int m_tasks = 0;
  std::optional<int> m_last_task;
  std::function<void()> m_end = [] {};
  std::unordered_set<TimerId> m_own;
};

}  // namespace trainstep::sim::data
