// The DELETE of one object: until the API server has taken it, or the object is seen to be gone. What answers such a request need not be the API
// server, nor speak of this object: a conflict, a gateway's 404, no answer at all say nothing of it, so it is looked at before it is tried again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "kube/client.h"

namespace trainstep::cluster {

class Removal {
 public:
  struct Order {
    kube::Path path;
    std::string uid;
    std::string version{};                      // the DELETE is for the object as it was seen, while that can be had; empty: in whatever state
    std::function<bool(const Json&)> spares{};  // what is seen now must stay
    Duration patience{30'000};                  // so long it is tried against a server that answers
    std::optional<Duration> silence{};          // … against one that does not; unset: for ever
    bool taken = false;                         // the server has taken a DELETE before this
    bool to_the_end = false;                    // done when it is gone
    std::optional<Duration> end_patience{};     // … or after so long; unset: for ever
  };
  enum class End {
    gone,    // there is no such object any more, or another one has its name
    taken,   // it is being deleted: that was all that was asked for, or its end has not come, or cannot be seen (problem)
    spared,  // it stays
    failed,  // it may still be there (problem)
  };
  struct Outcome {
    End end = End::failed;
    std::optional<kube::ApiError> problem;
    Json last;  // the object as it was seen last; null: it was not
  };
  struct Sink {
    std::function<void(const kube::ApiError&)> failing;  // not for the first time, or it takes seconds
    std::function<void(const Json&)> remains;            // optional: its end is awaited for seconds
    std::function<void(Outcome)> done;                   // once, from the loop; it may destroy this
  };
  // `client` must outlive it. What is on the wire when this is destroyed may still take effect.
  Removal(kube::Client& client, Order order, Sink sink);
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  ~Removal();

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
  void stop_timer(Loop::TimerId& timer);
  void finish(End end, std::optional<kube::ApiError> problem = {});

  kube::Client& m_client;
  Order m_order;
  Sink m_sink;
  kube::Client::CallId m_call = 0;
  Loop::TimerId m_next = 0;   // the next look
  Loop::TimerId m_due = 0;    // an answer is
  Loop::TimerId m_limit = 0;  // the last try
  std::optional<Deadline> m_refusal_ends, m_silence_ends, m_end_told, m_end_ends;
  Json m_last;
  int m_tries = 0;             // since the last answer that helped
  int m_conflicts = 0;         // DELETEs that found another version
  bool m_conflict = false;     // the last one did: then there was an object, whatever a server that is behind says
  bool m_late = false;         // the last try has begun
  bool m_lost = false;         // a DELETE had no answer: it may have been taken
  bool m_hopeless = false;     // the last one had none
  bool m_seen_absent = false;  // by a GET
};

// What an object that is being deleted waits for: "its finalizers example.com/a, example.com/b", "its pods".
std::string what_remains(const Json& object);

}  // namespace trainstep::cluster
