// SPDX-License-Identifier: Apache-2.0
#include "base/poll_loop.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace trainstep {

Loop::TimerId PollLoop::after(Duration delay, std::function<void()> done) {
  m_timers.emplace(m_next_timer, Timer{std::chrono::steady_clock::now() + delay, std::move(done)});
  return m_next_timer++;
}

void PollLoop::cancel(TimerId timer) { m_timers.erase(timer); }

void PollLoop::post(std::function<void()> task) { m_posted.push_back(std::move(task)); }

void PollLoop::on_readable(int fd, std::function<void()> ready) { m_readers[fd] = std::move(ready); }

void PollLoop::forget(int fd) { m_readers.erase(fd); }

void PollLoop::run() {
  m_stopped = false;
  while (!m_stopped && has_work()) {
    run_posted();
    if (m_stopped || !has_work()) return;  // without anything to wait for, poll would never return
    poll_descriptors();
    run_due_timers();
  }
}

void PollLoop::run_posted() {
  // What a task posts runs in the next round, so that descriptors and timers are never starved.
  for (auto& task : std::exchange(m_posted, {})) {
    if (m_stopped) return;
    task();
  }
}

void PollLoop::run_due_timers() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::pair<Monotonic, TimerId>> due;
  for (const auto& [id, timer] : m_timers)
    if (timer.due <= now) due.emplace_back(timer.due, id);
  std::sort(due.begin(), due.end());
  for (const auto& [when, id] : due) {
    auto timer = m_timers.extract(id);  // a timer before it may have cancelled this one
    if (!timer.empty() && !m_stopped) timer.mapped().done();
  }
}

int PollLoop::poll_timeout_ms() const {
  if (!m_posted.empty()) return 0;
  if (m_timers.empty()) return -1;
  const auto next = std::min_element(m_timers.begin(), m_timers.end(), [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
  const auto left = std::chrono::ceil<Duration>(next->second.due - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<Duration::rep>(left.count(), 0, 3'600'000));
}

void PollLoop::poll_descriptors() {
  std::vector<pollfd> polled;
  polled.reserve(m_readers.size());
  for (const auto& [fd, ready] : m_readers) polled.push_back({fd, POLLIN, 0});
  if (::poll(polled.data(), polled.size(), poll_timeout_ms()) <= 0) return;  // time-out or EINTR: the caller looks again
  for (const auto& entry : polled) {
    if (entry.revents == 0 || m_stopped) continue;
    if (const auto reader = m_readers.find(entry.fd); reader != m_readers.end()) {
      const auto ready = reader->second;  // a copy: it may forget() itself
      ready();
    }
  }
}

}  // namespace trainstep
