// Combines the connection problems of all users of the API server into one notification: begun, ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/loop.h"
#include "kube/api_error.h"

namespace trainstep::kube {

// A problem lasts until each user that has it has got a response, or has given up and something else works. Users without any response are cleared by
// a response to anyone, which shows that the server is reachable again; after a response like 503 the same user must get a good one.
class ConnectionHealth {
 public:
  using OnChange = std::function<void(const std::string& reason)>;  // empty: ended

  explicit ConnectionHealth(Loop& loop) : m_loop(loop) {}
  ConnectionHealth(const ConnectionHealth&) = delete;
  ConnectionHealth& operator=(const ConnectionHealth&) = delete;
  // Called from the loop, never from within the functions below.
  void on_change(OnChange notify) { m_on_change = std::move(notify); }

  // `breaks`: there was a response, but its connection broke soon.
  void failing(const void* who, const ApiError& error, bool breaks = false);
  void works(const void* who);
  void forget(const void* who) { m_failing.erase(who); }

 private:
  void notify_soon();
  void notify();

  Loop& m_loop;
  OnChange m_on_change;
  std::map<const void*, bool> m_failing;  // whether there was a response
  std::string m_reason;
  Timer m_timer;
  bool m_notified = false;
};

}  // namespace trainstep::kube
