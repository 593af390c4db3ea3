// A transport that tells of every exchange: for the log's level "debug", and for who wants to know what is waited for.
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

// What may be said of a request: no headers, no query (it may be signed), no body.
struct Seen {
  std::string method;
  std::string origin;  // "https://host:6443"
  std::string path;
  bool awaited = false;  // its answer has not come and should soon: it neither sends nor takes large bodies
  bool streams = false;  // its body comes as long as there is something
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void began(const Seen& /*seen*/) {}
  // Of a stream twice: when it begins (`over` is false), and when it has ended.
  virtual void answered(const Seen& /*seen*/, int /*status*/, Duration /*took*/, bool /*over*/) {}
  virtual void failed(const Seen& /*seen*/, const Error& /*error*/, Duration /*took*/) {}
  virtual void cancelled(const Seen& /*seen*/, Duration /*took*/) {}
};

class ObservedTransport : public Transport {
 public:
  // All must outlive it, and it is gone before `inner`.
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
