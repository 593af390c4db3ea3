// Whether the connections of a watch, or of a log that is followed, break soon after the server has accepted them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trainstep::kube {

// After two early breaks an accepted connection proves nothing, until one was good: it has lasted for `steady_after`, or was ended by the server. One
// may be an outage, or a server that restarts.
class EarlyBreaks {
 public:
  void begins() { m_is_early = false; }
  void accepted() { m_is_early = true; }
  void good() {
    m_is_early = false;
    m_count = 0;
  }
  // The connection has broken. Returns whether it had been accepted, and not yet been good.
  bool broke() {
    if (m_is_early) ++m_count;
    return m_is_early;
  }
  // Since the last good connection.
  [[nodiscard]] bool are_repeated() const { return m_count > 1; }

 private:
  bool m_is_early = false;
  int m_count = 0;
};

}  // namespace trainstep::kube
