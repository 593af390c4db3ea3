// A timeout that changes of the wall clock do not affect: Loop::now() is wall-clock time, timers are monotonic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/loop.h"

namespace trainstep {

class Deadline {
 public:
  // `loop` must outlive this object.
  explicit Deadline(Loop& loop) : m_loop(loop) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Expires `after` this long from now. Replaces an earlier set().
  void set(Duration after) {
    m_passed = false;
    m_set = true;
    m_timer = m_loop.timer(after, [this] { m_passed = true; });
  }
  [[nodiscard]] bool is_set() const { return m_set; }
  [[nodiscard]] bool passed() const { return m_passed; }

 private:
  Loop& m_loop;
  Timer m_timer;
  bool m_set = false, m_passed = false;
};

}  // namespace trainstep
