// Whether the connections of a watch, or of a log that is followed, break soon after the server has accepted them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trainstep::kube {

// After an early break an accepted connection proves nothing, until one was good: it has lasted for `steady_after`, or was ended by the server.
class EarlyBreaks {
 public:
  void begins() { m_is_early = false; }
  void accepted() { m_is_early = true; }
  void good() { m_is_early = m_any = false; }
  void broke() { m_any = m_any || m_is_early; }
  // Since the last good connection.
  [[nodiscard]] bool any() const { return m_any; }

 private:
  bool m_is_early = false;
  bool m_any = false;
};

}  // namespace trainstep::kube
