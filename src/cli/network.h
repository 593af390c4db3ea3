// The network of a run, and what is logged about it: every request at level debug, a server that makes us wait at level warning.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/poll_loop.h"
#include "http/curl_transport.h"
#include "http/observed_transport.h"
#include "http/waiting.h"
#include "log/log.h"
#include "run/listener.h"

namespace trainstep::cli {

// "GET https://10.96.0.1/api/v1/pods: 200 in 12 ms": without the query, which may be signed.
class RequestLog : public http::Observer {
 public:
  RequestLog(Loop& loop, log::Log& log) : m_loop(loop), m_log(log) {}
  void answered(const http::Seen& seen, int status, Duration took, bool over) override;
  void failed(const http::Seen& seen, const Error& error, Duration took) override;
  void cancelled(const http::Seen& seen, Duration took) override;

 private:
  void write(const http::Seen& seen, const std::string& what, Duration took);

  Loop& m_loop;
  log::Log& m_log;
};

class Network : public run::Listener {
 public:
  // `api_server`: its origin. Once there is a job, the run itself reports problems with it.
  Network(PollLoop& loop, log::Log& log, std::string api_server);
  [[nodiscard]] http::Transport& transport() { return m_observed; }
  void event(const follow::Event& event) override;
  void leaves(const std::string& origin) override { m_waiting.forget(origin); }

 private:
  std::string m_api_server;
  RequestLog m_requests;
  http::Waiting m_waiting;
  http::CurlTransport m_transport;
  http::ObservedTransport m_observed;
};

}  // namespace trainstep::cli
