// What lies between the step and the API server: an http::Transport with every fault a network and a busy server have, drawn from a seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http/transport.h"
#include "sim/api_server.h"
#include "sim/trace.h"

namespace trainstep::sim {

// A time without an API server.
struct Outage {
  // No connection; packets vanish; 503 from what stands before it; what stands before it answers 504 although the server has done what was asked.
  enum class Sort { refused, silent, unavailable, gateway };
  Time from, to;
  Sort sort = Sort::refused;
};

// Chances are per exchange.
struct Faults {
  Duration delay{3};  // usual one way, up to twice as long
  double slow = 0;    // a delay of up to `slowest` instead
  Duration slowest{4'000};
  double lost_request = 0;  // the connection breaks before the server has read it
  double lost_reply = 0;    // … after it has done what was asked
  double swallowed = 0;     // nothing comes back, nothing breaks: effect or not, half and half
  double cut = 0;           // the answer or the stream breaks off, anywhere
  double stalled = 0;       // a stream goes silent for good
  double too_many = 0;      // 429 with Retry-After
  double server_error = 0;  // 500 or 503, nothing done
  double gateway = 0;       // 504, done nevertheless
  double unauthorized = 0;  // 401 although the token is good
  // Of a PATCH or a DELETE, which is not carried out and says nothing of the object.
  double conflict = 0;      // 409: another writer was faster
  double astray = 0;        // 404 of a gateway, or of an API server that does not know the path just now
  double just_started = 0;  // 403 of an API server that has not read its roles yet
  double begs_off = 0;      // 429 or 503 with a Retry-After that is longer than a pod's grace
  double hollow = 0;        // of any request but a POST: a 200 with an unrelated body
  double unanswered = 0;    // a DELETE: effect or not, half and half, and nothing comes back
  double twice = 0;         // per watch event: comes again
  double split = 0.1;       // per piece: comes in two
  std::vector<Outage> outages = {};
};

// What becomes of one request that reaches the server.
enum class Accident { none, lost, swallowed, gateway, late };

class Network : public http::Transport {
 public:
  enum class Hook { go, die_before_send, die_after_effect };
  // Asked for each exchange with its number, from 1; `die` is called at that moment, and the step is dead from then on.
  using OnCall = std::function<Hook(int number, const http::Request& request)>;

  // References must outlive it.
  Network(SimLoop& loop, ApiServer& server, Trace& trace, Random random, Faults faults);
  ~Network() override;
  Id start(http::Request request, Handler handler) override;
  void cancel(Id id) override;

  void on_call(OnCall hook, std::function<void()> die) {
    m_hook = std::move(hook);
    m_die = std::move(die);
  }
  // Asked for each request that has reached the server.
  void on_arrival(std::function<Accident(const http::Request&)> accident) { m_accident = std::move(accident); }
  // How much later than it happens a watch of this resource tells.
  void delay_watch(std::string plural, Duration lag) { m_slow_watch = {std::move(plural), lag}; }
  // So many watches, by chance, are those of a server that is behind by up to `lag`.
  void delay_watches(double chance, Duration lag) { m_late_watches = {chance, lag}; }
  [[nodiscard]] int calls() const { return m_calls; }
  // The step has died: its connections break, nothing calls back. From now on nothing is sent until revive().
  void kill();
  void revive() { m_dead = false; }
  [[nodiscard]] const Faults& faults() const { return m_faults; }
  void add_outage(const Outage& outage);
  // What has reached the server, in order: "POST pytorchjobs dryRun", "GET pods watch", "GET train-1".
  struct Request {
    Time at;
    int life;  // which of the step's
    std::string what;
    bool blind = false;  // a DELETE that does not say which object it means
  };
  [[nodiscard]] const std::vector<Request>& requests() const { return m_requests; }
  // The step's present life; deaths and burials count it up.
  [[nodiscard]] int life() const { return m_life; }

 private:
  class Exchange;
  [[nodiscard]] const Outage* outage() const;
  Duration delay();
  void arrive(const std::shared_ptr<Exchange>& exchange);
  void note(const Exchange& exchange);
  bool injected(const std::shared_ptr<Exchange>& exchange);
  bool answered_for(const std::shared_ptr<Exchange>& exchange);
  bool misanswered(const std::shared_ptr<Exchange>& exchange);
  bool hit(const std::shared_ptr<Exchange>& exchange);
  void finish(Id id) { m_exchanges.erase(id); }

  SimLoop& m_loop;
  ApiServer& m_server;
  Trace& m_trace;
  Random m_random;
  Faults m_faults;
  OnCall m_hook;
  std::function<Accident(const http::Request&)> m_accident;
  std::pair<std::string, Duration> m_slow_watch;
  std::pair<double, Duration> m_late_watches;
  std::function<void()> m_die;
  bool m_dead = false;
  int m_calls = 0;
  int m_life = 0;  // of the step: a death that was meant for one does not hit the next
  Id m_next = 1;
  std::map<Id, std::shared_ptr<Exchange>> m_exchanges;
  std::vector<Request> m_requests;
};

}  // namespace trainstep::sim
