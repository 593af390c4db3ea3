// Servers that let us wait: said after some seconds, whatever it is that waits, and then rarely.
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
  using Tell = std::function<void(const std::string& text)>;
  Waiting(Loop& loop, Tell tell) : m_loop(loop), m_tell(std::move(tell)) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() override;

  // What the server at `origin` is called before its address.
  void name(const std::string& origin, std::string what) { m_servers[origin].name = std::move(what); }
  // Somebody else tells of this server from now on.
  void leave_out(const std::string& origin);

  void began(const Seen& seen) override;
  void answered(const Seen& seen, int status, Duration took, bool over) override;
  void failed(const Seen& seen, const Error& error, Duration took) override;
  void cancelled(const Seen& seen, Duration took) override;

 private:
  struct Server {
    std::string name;
    int open = 0;                // requests whose answer is due
    std::optional<Time> since;   // for so long nothing was answered, of what was asked
    std::optional<Time> failed;  // the last time
    std::string reason;          // of that failure
    int told = 0;
    bool left_out = false;
    Loop::TimerId timer = 0;
  };
  void wait(const std::string& origin, Server& server);
  void rest(Server& server);
  void look(const std::string& origin);

  Loop& m_loop;
  Tell m_tell;
  std::map<std::string, Server> m_servers;  // by origin
};

}  // namespace trainstep::http
