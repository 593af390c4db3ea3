// SPDX-License-Identifier: Apache-2.0
#include "base/poll_loop.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace trainstep {

Loop::TimerId PollLoop::start(Duration delay, std::function<void()> done) {
  m_timers.emplace(m_next_timer, Waiting{std::chrono::steady_clock::now() + delay, std::move(done)});
  return m_next_timer++;
}

void PollLoop::cancel(TimerId timer) { m_timers.erase(timer); }

void PollLoop::post(std::function<void()> task) { m_posted.push_back(std::move(task)); }

void PollLoop::watch(int fd, Ready interest, std::function<void(Ready)> ready) {
  const auto events = static_cast<short>((interest.readable ? POLLIN : 0) | (interest.writable ? POLLOUT : 0));
  m_watches[fd] = Watch{events, m_next_watch++, std::move(ready)};
}

void PollLoop::on_readable(int fd, std::function<void()> ready) {
  watch(fd, {.readable = true}, [call = std::move(ready)](Ready) { call(); });
}

void PollLoop::forget(int fd) { m_watches.erase(fd); }

void PollLoop::run() {
  m_stopped = false;
  while (!m_stopped && has_work()) {
    run_posted();
    if (m_stopped || !has_work()) return;  // with nothing to wait for, poll would never return
    poll_descriptors();
    run_due_timers();
  }
}

void PollLoop::run_posted() {
  // Tasks posted by a task run in the next round, so that descriptors and timers are not starved.
  auto tasks = std::exchange(m_posted, {});
  auto next = tasks.begin();
  while (next != tasks.end() && !m_stopped) (*next++)();
  m_posted.insert(m_posted.begin(), std::make_move_iterator(next), std::make_move_iterator(tasks.end()));  // for the next run()
}

void PollLoop::run_due_timers() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::pair<Monotonic, TimerId>> due;
  for (const auto& [id, timer] : m_timers)
    if (timer.due <= now) due.emplace_back(timer.due, id);
  std::sort(due.begin(), due.end());
  for (const auto& [when, id] : due) {
    if (m_stopped) return;
    auto timer = m_timers.extract(id);  // may have been cancelled by an earlier timer
    if (!timer.empty()) timer.mapped().done();
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
  std::vector<std::uint64_t> serials;
  polled.reserve(m_watches.size());
  serials.reserve(m_watches.size());
  for (const auto& [fd, watch] : m_watches) {
    polled.push_back({fd, watch.events, 0});
    serials.push_back(watch.serial);
  }
  if (::poll(polled.data(), polled.size(), poll_timeout_ms()) <= 0) return;  // time-out or EINTR: the caller polls again
  for (std::size_t i = 0; i < polled.size(); ++i) {
    const auto& entry = polled[i];
    if (entry.revents == 0 || m_stopped) continue;
    const auto watch = m_watches.find(entry.fd);
    if (watch == m_watches.end() || watch->second.serial != serials[i]) continue;  // removed or replaced by an earlier callback
    const bool broken = (entry.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    const auto is = [&](short event) { return (entry.events & event) != 0 && (broken || (entry.revents & event) != 0); };
    const auto ready = watch->second.ready;  // a copy: the callback may forget() itself
    ready({.readable = is(POLLIN), .writable = is(POLLOUT)});
  }
}

}  // namespace trainstep
