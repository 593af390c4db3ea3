// What lies between a process and the object store: an http::Transport with the faults of networks, proxies and busy stores, drawn from a seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http/transport.h"
#include "sim/data/object_store.h"
#include "sim/trace.h"

namespace trainstep::sim::data {

// A time without a store.
struct Outage {
  enum class Sort { refused, silent, unavailable };  // no connection; packets vanish; 503
  Time from, to;
  Sort sort = Sort::refused;
};

struct Faults {
  double rate = 0;         // of exchanges that something happens to
  int max_in_a_row = 2;    // of one and the same request: then it is heard
  double slow = 0;         // of answers that take their time
  bool truncates = false;  // a proxy may cut a body short and pretend that it was all
  bool damages = false;    // a byte of what is put or of a whole object that is fetched may become another, where the ETag tells of it
  std::vector<Outage> outages{};
};

class StoreNetwork : public http::Transport {
 public:
  // References must outlive it.
  StoreNetwork(SimLoop& loop, ObjectStore& store, Trace& trace, Random random, Faults faults);
  ~StoreNetwork() override { kill(); }
  Id start(http::Request request, Handler handler) override;
  void cancel(Id id) override;

  // The process has died: nothing calls back. What was sent is on its way, and arrives within max_transfer_time.
  void kill();
  static constexpr Duration max_transfer_time{900};
  // Asked before the `number`th request is sent – false: it is not –, and told when it has taken effect (`after`).
  void on_call(std::function<bool(int number, bool after)> hook) { m_hook = std::move(hook); }
  void calm() { m_faults = {}; }
  [[nodiscard]] const Faults& faults() const { return m_faults; }
  [[nodiscard]] int calls() const { return m_calls; }
  [[nodiscard]] int truncated() const { return m_truncated; }  // bodies, so far
  [[nodiscard]] int requests_under_way() const { return static_cast<int>(m_exchanges.size()); }

 private:
  enum class Fault {
    none,
    reset,
    reset_after,
    swallowed,
    swallowed_after,
    slow_down,
    server_error,
    error_after,
    denied,
    cut,
    truncated,
    garbled,
    broken,
    damaged
  };
  struct Exchange;
  using Shared = std::shared_ptr<Exchange>;
  [[nodiscard]] Fault draw(const http::Request& request);
  [[nodiscard]] Fault pick(const http::Request& request);
  [[nodiscard]] const Outage* outage() const;
  Duration delay() { return m_random.between(Duration{1}, Duration{20}); }
  void arrive(const Shared& exchange);
  void damage(std::string& body) { body.at(static_cast<std::size_t>(m_random.between(0, static_cast<std::int64_t>(body.size()) - 1))) ^= 1; }
  void answer(const Shared& exchange, http::Response response);
  void give(const Shared& exchange, std::size_t from);
  void fail(const Shared& exchange, Duration after, std::string why);
  void done(const Shared& exchange, Result<http::Response> result);
  void watch_silence(const Shared& exchange);

  SimLoop& m_loop;
  ObjectStore& m_store;
  Trace& m_trace;
  Random m_random;
  Faults m_faults;
  std::function<bool(int, bool)> m_hook;
  int m_calls = 0, m_truncated = 0;
  Id m_next = 1;
  std::map<Id, Shared> m_exchanges;
  std::map<std::string, int> m_in_a_row;  // faults, by request
};

}  // namespace trainstep::sim::data
