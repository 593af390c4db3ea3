// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_logs.h"

#include <fmt/format.h>

namespace trainstep::cluster {

void JobLogs::follow(const follow::FollowLog& order) {
  kube::LogStream::Sink sink;
  const auto member = order.member;
  const auto attempt = order.attempt;
  sink.lines = [this, member, attempt](std::string_view lines) { m_sink.lines({member, lines, attempt}); };
  auto whole = std::make_shared<bool>(true);
  sink.lost = [this, pod = order.pod, whole](const std::string& what) {
    *whole = false;
    m_sink.log(fmt::format("log of {}: {}", pod, what));
  };
  sink.waits = [this, pod = order.pod](const std::string& what) { m_sink.log(fmt::format("log of {}: {}", pod, what)); };
  sink.ended = [this] { m_sink.ended(); };
  sink.complete = [this, member, attempt, whole] { m_sink.complete({member, attempt, *whole}); };
  auto& siblings = m_siblings[{order.pod, order.container}];
  if (!siblings) siblings = std::make_shared<kube::ContainerLogs>();
  auto& log = m_logs[{member, attempt}];
  log = std::make_unique<kube::LogStream>(m_client, kube::LogSource{m_name_space, order.pod, order.container, order.previous}, std::move(sink),
                                          siblings);
  log->hold(m_held);
}

void JobLogs::end(const follow::EndLog& order) {
  if (const auto log = m_logs.find({order.member, order.attempt}); log != m_logs.end())
    order.gone ? log->second->abandon() : log->second->ended(order.restarted);
}

void JobLogs::hold(bool held) {
  m_held = held;
  for (auto& [key, log] : m_logs) log->hold(m_held);
}

}  // namespace trainstep::cluster
