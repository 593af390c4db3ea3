// SPDX-License-Identifier: Apache-2.0
#include "cluster/keep_deadline_removal.h"

namespace trainstep::cluster {

void KeepDeadlineRemoval::look() {
  if (!m_seen.has_keep_deadline() || !m_sink.is_wanted() || m_removing || m_timer) return;
  try_in(m_rests.is_set() && !m_rests.passed() ? pause : Duration(0));
}

void KeepDeadlineRemoval::stop() {
  m_timer.cancel();
  m_keep_deadline.reset();
  m_removing = false;
}

void KeepDeadlineRemoval::try_in(Duration time) {
  m_timer = m_client.loop().timer(time, [this] {
    m_timer = {};
    if (m_seen.has_keep_deadline() && m_sink.is_wanted()) remove();
  });
}

void KeepDeadlineRemoval::remove() {
  m_rests.set(pause);
  m_removing = true;
  m_keep_deadline = std::make_unique<KeepDeadline>(m_client, m_sink.job(), m_seen.deadline());
  m_keep_deadline->lift(m_seen.version(), {Duration(0)}, [this](const std::optional<kube::ApiError>& problem) {
    m_removing = false;
    if (problem) return try_in(pause);
    m_seen.set_lifted();
    m_sink.log("removed the deadline set by another attempt");
  });
}

}  // namespace trainstep::cluster
