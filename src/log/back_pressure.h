// Back-pressure from a slow reader of the log: the producers must wait, and at the end the loop waits for the reader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/lifetime.h"
#include "base/poll_loop.h"
#include "base/pressure.h"
#include "log/log.h"

namespace trainstep::log {

// How long the end of the log waits for its reader.
struct ReaderTimeout {
  Duration silent{};                 // limit for the time in which nothing is read
  std::optional<Duration> in_all{};  // overall limit, however slowly it is read
};

class BackPressure {
 public:
  // Both must outlive this object. `changed` is called from the loop.
  BackPressure(PollLoop& loop, Log& log, std::function<void(Pressure)> changed);
  BackPressure(const BackPressure&) = delete;
  BackPressure& operator=(const BackPressure&) = delete;
  ~BackPressure();

  // `done` is called from the loop when everything was written, or the limits are exceeded: the rest is lost, which is reported on stderr.
  void finish(ReaderTimeout timeout, std::function<void()> done);
  // Shortens the wait: gives up almost at once if nothing is read, soon in any case.
  void hurry();

 private:
  void on_full();
  void look();
  void change(Pressure pressure);
  void look_for_progress();
  void give_up();
  void done();
  void rest();

  PollLoop& m_loop;
  Log& m_log;
  Writer& m_writer;
  std::function<void(Pressure)> m_changed;
  Pressure m_pressure = Pressure::none;
  std::function<void()> m_done;
  ReaderTimeout m_timeout{};
  Duration m_silent{};  // time in which nothing was read
  std::uint64_t m_taken = 0;
  Timer m_timer;
  Lifetime m_lifetime;
};

}  // namespace trainstep::log
