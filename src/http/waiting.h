// Reports servers that do not respond: after some seconds, whatever request is waiting, then at increasing intervals.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/loop.h"
#include "http/observed_transport.h"

namespace trainstep::http {

class Waiting : public Observer {
 public:
  // "waiting for the API server https://10.96.0.1: no answer for 5.0 s", "waiting for https://minio:9000: Connection refused".
  using Report = std::function<void(const std::string& text)>;
  Waiting(Loop& loop, Report report) : m_loop(loop), m_report(std::move(report)) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() override;

  // Sets the description of the server at `origin`, which is printed before its address.
  void name(const std::string& origin, std::string what) { m_servers[origin].name = std::move(what); }
  // Stops reporting this server, because another component does.
  void leave_out(const std::string& origin);

  // Nothing is requested of this server any more.
  void forget(const std::string& origin);

  void began(const Seen& seen) override;
  void answered(const Seen& seen, int status, Duration took, bool over) override;
  void failed(const Seen& seen, const Error& error, Duration took) override;
  void cancelled(const Seen& seen, Duration took) override;

 private:
  struct Server {
    std::string name;
    int open = 0;                // requests whose response is due
    std::optional<Time> since;   // when the first of the requests that are still unanswered was sent
    std::optional<Time> failed;  // time of the last failure
    std::string reason;          // of that failure
    int told = 0;
    bool left_out = false;
    Timer timer;
  };
  void wait(const std::string& origin, Server& server);
  void rest(Server& server);
  void look(const std::string& origin);

  Loop& m_loop;
  Report m_report;
  std::map<std::string, Server> m_servers;  // by origin
};

}  // namespace trainstep::http
