// SPDX-License-Identifier: Apache-2.0
#include "log/back_pressure.h"

#include <algorithm>
#include <utility>

namespace trainstep::log {
namespace {

constexpr Duration stalled_after{2'000};
constexpr Duration look_every{100};
constexpr Duration silent_in_a_hurry{500};
constexpr Duration max_hurried_wait{10'000};
constexpr std::size_t low = Writer::full / 2;

}  // namespace

BackPressure::BackPressure(PollLoop& loop, Log& log, std::function<void(Pressure)> changed)
    : m_loop(loop), m_log(log), m_writer(log.writer()), m_changed(std::move(changed)) {
  m_writer.on_full([this] { on_full(); });
}

BackPressure::~BackPressure() {
  m_writer.on_full({});
  rest();
}

// Deferred, because it may be called from within a producer that has to wait.
void BackPressure::on_full() {
  if (m_pressure != Pressure::none || m_done) return;
  m_pressure = Pressure::full;
  m_loop.post(m_lifetime.bind([this] {
    if (m_done || m_pressure != Pressure::full) return;
    m_taken = m_writer.taken();
    m_silent = {};
    m_loop.on_readable(m_writer.wakeup_fd(), [this] { look(); });
    m_timer = m_loop.timer(look_every, [this] { look_for_progress(); });
    m_writer.wake_when_unread_at_most(low);
    if (m_changed) m_changed(Pressure::full);
  }));
}

void BackPressure::look() {
  m_writer.clear_wakeup();
  if (m_done) return m_writer.waiting() == 0 ? done() : m_writer.wake_when_unread_at_most(0);
  if (m_writer.waiting() > low) return m_writer.wake_when_unread_at_most(low);
  rest();
  change(Pressure::none);
}

void BackPressure::change(Pressure pressure) {
  if (std::exchange(m_pressure, pressure) == pressure) return;
  m_log.allow_dropping(pressure == Pressure::stalled);
  if (m_changed) m_changed(pressure);
}

void BackPressure::look_for_progress() {
  m_silent = std::exchange(m_taken, m_writer.taken()) == m_writer.taken() ? m_silent + look_every : Duration{};
  if (m_timeout.in_all) *m_timeout.in_all -= look_every;
  if (m_done && (m_silent >= m_timeout.silent || (m_timeout.in_all && m_timeout.in_all->count() <= 0))) return give_up();
  m_timer = m_loop.timer(look_every, [this] { look_for_progress(); });
  if (!m_done) change(m_silent >= stalled_after ? Pressure::stalled : Pressure::full);
}

void BackPressure::finish(ReaderTimeout timeout, std::function<void()> done_call) {
  m_writer.commit();
  rest();
  m_done = std::move(done_call);
  m_timeout = timeout;
  m_silent = {};
  m_taken = m_writer.taken();
  m_loop.on_readable(m_writer.wakeup_fd(), [this] { look(); });
  m_timer = m_loop.timer(look_every, [this] { look_for_progress(); });
  m_writer.wake_when_unread_at_most(0);
}

void BackPressure::hurry() {
  m_timeout.silent = std::min(m_timeout.silent, silent_in_a_hurry);
  m_timeout.in_all = std::min(m_timeout.in_all.value_or(max_hurried_wait), max_hurried_wait);
}

void BackPressure::give_up() {
  m_writer.give_up();
  done();
}

void BackPressure::done() {
  rest();
  if (const auto call = std::exchange(m_done, {})) call();
}

void BackPressure::rest() {
  m_loop.forget(m_writer.wakeup_fd());
  m_timer.cancel();
}

}  // namespace trainstep::log
