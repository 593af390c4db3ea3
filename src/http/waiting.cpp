// SPDX-License-Identifier: Apache-2.0
#include "http/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace trainstep::http {
namespace {

// Intervals between messages; the last one repeats.
constexpr std::array pauses{Duration(5'000), Duration(55'000), Duration(240'000), Duration(600'000)};
// Longer than any retry delay: after this, the client has stopped retrying.
constexpr Duration max_reported_pause{45'000};

// Removes the address, which the caller prints.
std::string without_place(const std::string& message) {
  const auto end = message.find(": ");
  return end == std::string::npos || message.find(' ') < end ? message : message.substr(end + 2);
}

}  // namespace

Waiting::~Waiting() {
  for (auto& [origin, server] : m_servers) rest(server);
}

void Waiting::leave_out(const std::string& origin) {
  auto& server = m_servers[origin];
  server.left_out = true;
  rest(server);
}

void Waiting::forget(const std::string& origin) {
  if (const auto found = m_servers.find(origin); found != m_servers.end()) rest(found->second);
}

void Waiting::wait(const std::string& origin, Server& server) {
  if (server.left_out || server.since) return;
  server.since = m_loop.now();
  server.timer = m_loop.timer(pauses.front(), [this, origin] { look(origin); });
}

void Waiting::rest(Server& server) {
  server.timer.cancel();
  server.since.reset();
  server.failed.reset();
  server.reason.clear();
  server.told = 0;
}

void Waiting::look(const std::string& origin) {
  auto& server = m_servers[origin];
  const auto now = m_loop.now();
  if (server.open == 0 && (!server.failed || now - *server.failed > max_reported_pause)) return rest(server);
  const auto why = server.reason.empty() ? "no answer for " + describe(now - server.since.value_or(now)) : server.reason;
  const auto pause = pauses.at(std::min<std::size_t>(static_cast<std::size_t>(++server.told), pauses.size() - 1));
  server.timer = m_loop.timer(pause, [this, origin] { look(origin); });
  m_report(fmt::format("waiting for {}{}{}: {}", server.name, server.name.empty() ? "" : " ", origin, why));
}

void Waiting::began(const Seen& seen) {
  if (!seen.awaited) return;
  auto& server = m_servers[seen.origin];
  ++server.open;
  wait(seen.origin, server);
}

// Any response shows that the server is reachable. For other pending requests, waiting starts again now.
void Waiting::answered(const Seen& seen, int /*status*/, Duration /*took*/, bool /*over*/) {
  auto& server = m_servers[seen.origin];
  rest(server);
  if (seen.awaited) server.open = std::max(server.open - 1, 0);
  if (server.open > 0) wait(seen.origin, server);
}

void Waiting::failed(const Seen& seen, const Error& error, Duration /*took*/) {
  auto& server = m_servers[seen.origin];
  if (seen.awaited) server.open = std::max(server.open - 1, 0);
  server.failed = m_loop.now();
  server.reason = without_place(error.message);
  wait(seen.origin, server);
}

void Waiting::cancelled(const Seen& seen, Duration /*took*/) {
  auto& server = m_servers[seen.origin];
  if (seen.awaited) server.open = std::max(server.open - 1, 0);
  if (server.open == 0 && !server.failed) rest(server);
}

}  // namespace trainstep::http
