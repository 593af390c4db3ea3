// The signals that this process has received, and the time that it has left after the first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/loop.h"
#include "cluster/facts.h"

namespace trainstep::cluster {

class StopSignals {
 public:
  // The loop must outlive it.
  StopSignals(Loop& loop, bool in_pod) : m_loop(loop), m_in_pod(in_pod) {}

  // SIGTERM or SIGINT was received. True: whoever sends it, a person at a shell or who sends SIGINT again, does not want to wait for what is in
  // progress.
  bool receive(int signal);
  // When the first one was received.
  [[nodiscard]] std::optional<Time> first() const { return m_first; }
  // When the kubelet, Argo's executor or KFP's launcher kills us after the first one, or would do so after one that arrives now.
  [[nodiscard]] Time killed_at(const Facts& facts) const;

 private:
  Loop& m_loop;
  bool m_in_pod;
  int m_count = 0;
  std::optional<Time> m_first;
};

}  // namespace trainstep::cluster
