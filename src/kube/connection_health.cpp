// SPDX-License-Identifier: Apache-2.0
#include "kube/connection_health.h"

#include <fmt/format.h>

namespace trainstep::kube {

void ConnectionHealth::failing(const void* who, const ApiError& error, bool breaks) {
  m_failing[who] = error.status != 0 || breaks;
  const auto* form = error.status == 0 && breaks              ? "connections to the API server break early ({})"
                     : error.status == 0                      ? "cannot reach the API server ({})"
                     : error.reason == not_the_servers_reason ? "the server is not an API server ({})"
                                                              : "the API server returned {1} ({0})";
  m_reason = fmt::format(fmt::runtime(form), error.error.message, error.status);
  if (!m_notified) notify_soon();
}

void ConnectionHealth::works(const void* who) {
  m_failing.erase(who);
  std::erase_if(m_failing, [](const auto& entry) { return !entry.second; });
  if (m_notified && m_failing.empty()) notify_soon();
}

void ConnectionHealth::notify_soon() {
  if (!m_timer) m_timer = m_loop.timer(Duration(0), [this] { notify(); });
}

void ConnectionHealth::notify() {
  m_timer = {};
  if (m_notified == !m_failing.empty()) return;
  m_notified = !m_notified;
  if (!m_on_change) return;
  const auto call = m_on_change;  // the callback may destroy this object
  call(m_notified ? m_reason : std::string());
}

}  // namespace trainstep::kube
