// What the loop does about a log that nobody reads as fast as it comes: whoever produces it is told to wait, and at the end it is waited for the
// reader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/poll_loop.h"
#include "base/pressure.h"
#include "log/log.h"

namespace trainstep::log {

// How long the end of the log waits for its reader.
struct Patience {
  Duration silent{};                 // without a byte taken
  std::optional<Duration> in_all{};  // however slowly it is read
};

class BackPressure {
 public:
  // Both must outlive it. `changed` is called from the loop.
  BackPressure(PollLoop& loop, Log& log, std::function<void(Pressure)> changed);
  BackPressure(const BackPressure&) = delete;
  BackPressure& operator=(const BackPressure&) = delete;
  ~BackPressure();

  // `done` comes from the loop when all is written, or when patience has ended: what is left then is lost, which is said on stderr.
  void finish(Patience patience, std::function<void()> done);
  // Somebody wants an end: at once if nobody reads, soon in any case.
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
  Patience m_patience{};
  Duration m_silent{};  // for so long nothing was taken
  std::uint64_t m_taken = 0;
  std::optional<Loop::TimerId> m_timer;
  std::shared_ptr<char> m_alive = std::make_shared<char>();
};

}  // namespace trainstep::log
