// Removes the deadline that another attempt of the step has set on the job that this one follows (cluster/keep_deadline.h). A lost attempt may set
// one at any time: its process need not know that the job is followed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "cluster/keep_deadline.h"
#include "cluster/seen_job.h"
#include "kube/client.h"

namespace trainstep::cluster {

class KeepDeadlineRemoval {
 public:
  struct Sink {
    std::function<KeepDeadline::Job()> job;  // as it is to be recorded in it now
    std::function<bool()> is_wanted;         // the job is followed, and not over
    std::function<void(std::string text)> log;
  };
  // References must outlive it.
  KeepDeadlineRemoval(kube::Client& client, SeenJob& seen, Sink sink)
      : m_client(client), m_seen(seen), m_sink(std::move(sink)), m_rests(client.loop()) {}
  KeepDeadlineRemoval(const KeepDeadlineRemoval&) = delete;
  KeepDeadlineRemoval& operator=(const KeepDeadlineRemoval&) = delete;

  // It has just been tried elsewhere.
  void tried() { m_rests.set(pause); }
  // It has failed elsewhere.
  void try_later() { try_in(pause); }
  // After each new state of the job.
  void look();
  void stop();

 private:
  void try_in(Duration time);
  void remove();

  // At most 60 times in the hour that the deadline leaves.
  static constexpr Duration pause{60'000};

  kube::Client& m_client;
  SeenJob& m_seen;
  Sink m_sink;
  Deadline m_rests;  // until then none is removed
  Timer m_timer;
  std::unique_ptr<KeepDeadline> m_keep_deadline;
  bool m_removing = false;
};

}  // namespace trainstep::cluster
