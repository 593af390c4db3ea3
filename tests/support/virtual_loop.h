// A Loop without waiting: time jumps from timer to timer.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/loop.h"

namespace trainstep::test {

class VirtualLoop : public Loop {
 public:
  [[nodiscard]] Time now() const override { return m_now; }
  TimerId start(Duration delay, std::function<void()> done) override {
    m_timers.emplace(std::pair{m_now + delay, m_next}, std::move(done));
    return m_next++;
  }
  void cancel(TimerId timer) override {
    std::erase_if(m_timers, [timer](const auto& entry) { return entry.first.second == timer; });
  }
  void post(std::function<void()> task) override { m_posted.push_back(std::move(task)); }

  // Runs what is due until nothing is left or `until` has passed.
  void run(Duration until = std::chrono::hours(24 * 365)) {
    const auto last = m_now + until;
    while (!m_posted.empty() || (!m_timers.empty() && m_timers.begin()->first.first <= last)) {
      if (!m_posted.empty()) {
        for (auto& task : std::exchange(m_posted, {})) task();
        continue;
      }
      auto timer = m_timers.extract(m_timers.begin());
      m_now = timer.key().first;
      timer.mapped()();
    }
  }

 private:
  Time m_now{std::chrono::hours(24 * 365 * 56)};
  TimerId m_next = 1;
  std::map<std::pair<Time, TimerId>, std::function<void()>> m_timers;
  std::vector<std::function<void()>> m_posted;
};

}  // namespace trainstep::test
