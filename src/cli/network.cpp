// SPDX-License-Identifier: Apache-2.0
#include "cli/network.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace trainstep::cli {

void RequestLog::write(const http::Seen& seen, const std::string& what, Duration took) {
  if (!m_log.shows(log::Level::debug)) return;
  m_log.write(m_loop.now(), log::Level::debug, fmt::format("{} {}{}: {} in {} ms", seen.method, seen.origin, seen.path, what, took.count()));
}

void RequestLog::answered(const http::Seen& seen, int status, Duration took, bool over) {
  write(seen, over ? seen.streams ? std::string("ended") : std::to_string(status) : fmt::format("{}, streaming,", status), took);
}

void RequestLog::failed(const http::Seen& seen, const Error& error, Duration took) { write(seen, "failed: " + error.message, took); }

void RequestLog::cancelled(const http::Seen& seen, Duration took) { write(seen, "cancelled", took); }

Network::Network(PollLoop& loop, log::Log& log, std::string api_server)
    : m_api_server(std::move(api_server)),
      m_requests(loop, log),
      m_waiting(loop, [&loop, &log](const std::string& text) { log.write(loop.now(), log::Level::warning, text); }),
      m_transport(loop),
      m_observed(m_transport, {&m_requests, &m_waiting}) {
  m_waiting.name(m_api_server, "the API server");
}

void Network::event(const follow::Event& event) {
  if (std::holds_alternative<follow::JobFound>(event.what) || std::holds_alternative<follow::ServerTrouble>(event.what))
    m_waiting.leave_out(m_api_server);
}

}  // namespace trainstep::cli
