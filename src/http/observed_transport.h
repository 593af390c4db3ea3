// A transport that reports every exchange to observers: for the log level "debug", and for messages about what is being waited for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/transport.h"

namespace trainstep::http {

// The parts of a request that may be logged: no headers, no query (it may be signed), no body.
struct Seen {
  std::string method;
  std::string origin;  // "https://host:6443"
  std::string path;
  bool awaited = false;  // its response is due soon: it neither sends nor receives a large body
  bool streams = false;  // its body continues as long as there is data
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void began(const Seen& /*seen*/) {}
  // Called twice for a stream: at its beginning (`over` is false) and at its end.
  virtual void answered(const Seen& /*seen*/, int /*status*/, Duration /*took*/, bool /*over*/) {}
  virtual void failed(const Seen& /*seen*/, const Error& /*error*/, Duration /*took*/) {}
  virtual void cancelled(const Seen& /*seen*/, Duration /*took*/) {}
};

class ObservedTransport : public Transport {
 public:
  // All must outlive this object, which must be destroyed before `inner`.
  ObservedTransport(Transport& inner, std::vector<Observer*> observers) : m_inner(inner), m_observers(std::move(observers)) {}

  Id start(Request request, Handler handler) override;
  void cancel(Id id) override;
  void hold(Id id, bool held) override { m_inner.hold(id, held); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Seen seen;
    Clock::time_point began = Clock::now();
    Id id = 0;
    [[nodiscard]] Duration took() const { return std::chrono::duration_cast<Duration>(Clock::now() - began); }
  };
  void done(Open& open, const Result<Response>& response);

  Transport& m_inner;
  std::vector<Observer*> m_observers;
  std::map<Id, std::shared_ptr<Open>> m_open;
};

}  // namespace trainstep::http
