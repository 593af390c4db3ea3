// Deletes one object: until the API server has accepted the DELETE, or the object is gone. The response to such a request may not come from the API
// server, nor be about this object: a conflict, a gateway's 404 or no response say nothing about it, so it is read before the next attempt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "kube/client.h"

namespace trainstep::cluster {

// The pause before a request that ends or keeps a job is tried again. A longer one, requested by a server, must not cost what a step still has to do.
Duration retry_pause(kube::Client& client, int tries, const kube::ApiError& problem);

class Removal {
 public:
  struct Order {
    kube::Path path;
    std::string uid;
    std::string version{};                      // delete the object only in the state that was seen, while that can be read; empty: in any state
    std::function<bool(const Json&)> spares{};  // an object in this state must stay
    Duration timeout{30'000};                   // how long a server that responds is asked
    std::optional<Duration> silence{};          // … one that does not; unset: for ever
    bool taken = false;                         // the server has accepted a DELETE before
    bool to_the_end = false;                    // done when it is gone
    std::optional<Duration> end_timeout{};      // … or after this long; unset: for ever
  };
  enum class End {
    gone,    // there is no such object any more, or its name belongs to another one
    taken,   // it is being deleted: no more was requested, or its end has not come, or cannot be seen (problem)
    spared,  // it is kept
    failed,  // it may still exist (problem)
  };
  struct Outcome {
    End end = End::failed;
    std::optional<kube::ApiError> problem;
    Json last;  // the object as it was last seen; null: it was not
    // Why it failed.
    [[nodiscard]] Error error() const;
  };
  struct Sink {
    std::function<void(const kube::ApiError&)> failing;  // not the first attempt, or it takes seconds
    std::function<void(const Json&)> remains;            // optional: its end is waited for for seconds
    std::function<void(Outcome)> done;                   // called once, from the loop; may destroy this object
  };
  // `client` must outlive it. Requests that have been sent when this is destroyed may still take effect.
  Removal(kube::Client& client, Order order, Sink sink);
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

 private:
  void remove();
  void answered(const kube::Answer& answer, bool versioned);
  void silent();
  void look();
  void seen(kube::Answer answer);
  void absent();
  void try_again();
  void await_end();
  void refused(const kube::ApiError& problem);
  void too_late();
  [[nodiscard]] bool may_help(const kube::ApiError& problem);
  void limit_tries();
  void finish(End end, std::optional<kube::ApiError> problem = {});

  kube::Client& m_client;
  Order m_order;
  Sink m_sink;
  kube::PendingCall m_call;
  Timer m_next;   // the next look
  Timer m_due;    // a response is due
  Timer m_limit;  // the last attempt
  std::optional<Deadline> m_refusal_ends, m_silence_ends, m_end_told, m_end_ends;
  Json m_last;
  int m_tries = 0;             // since the last useful response
  int m_conflicts = 0;         // DELETEs that found another version
  bool m_conflict = false;     // the last one did: then the object existed, whatever a server that is behind says
  bool m_late = false;         // the last attempt has started
  bool m_lost = false;         // a DELETE had no response: it may have been accepted
  bool m_hopeless = false;     // the last one had none
  bool m_seen_absent = false;  // by a GET
};

// What an object that is being deleted waits for: "its finalizers example.com/a, example.com/b", "its pods".
std::string what_remains(const Json& object);

}  // namespace trainstep::cluster
