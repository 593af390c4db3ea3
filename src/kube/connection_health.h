// Who has trouble with the API server, told as one: begun, ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/loop.h"
#include "kube/api_error.h"

namespace trainstep::kube {

// A trouble lasts until each who has it has been answered, or has given up and something else works. Whoever got no answer at all is relieved by any
// answer to anyone: then the server is there again; an answer like 503 has to be made up for by the one who got it.
class ConnectionHealth {
 public:
  using Tell = std::function<void(const std::string& reason)>;  // empty: ended

  explicit ConnectionHealth(Loop& loop) : m_loop(loop) {}
  ConnectionHealth(const ConnectionHealth&) = delete;
  ConnectionHealth& operator=(const ConnectionHealth&) = delete;
  ~ConnectionHealth();
  // Told from the loop, never from within the functions below.
  void on_change(Tell tell) { m_tell = std::move(tell); }

  void failing(const void* who, const ApiError& error);
  void works(const void* who);
  void forget(const void* who) { m_failing.erase(who); }

 private:
  void tell_soon();
  void tell();

  Loop& m_loop;
  Tell m_tell;
  std::map<const void*, bool> m_failing;  // whether an answer came
  std::string m_reason;
  Loop::TimerId m_timer = 0;
  bool m_told = false;
};

}  // namespace trainstep::kube
