// What a step knows of its own pod, which it may have to read in little time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/lifetime.h"
#include "cluster/facts.h"
#include "kube/client.h"

namespace trainstep::cluster {

// Reads the facts once, as find_facts(); a stop, for which there is not much time, has it read them in haste, or do without them.
class OwnFacts {
 public:
  struct Context {
    Loop& loop;
    kube::Client& home;      // of the cluster of the step
    std::string name_space;  // of the step
    OwnPod pod;
    std::function<void(const std::string& line)> log;
  };

  // References must outlive it. Calls `done` once, from the loop. Errors: as find_facts().
  OwnFacts(Context context, std::function<void(Result<Facts>)> done);
  OwnFacts(const OwnFacts&) = delete;
  OwnFacts& operator=(const OwnFacts&) = delete;

  void look();
  // Nothing has to be read: calls `done` with these.
  void use(Facts facts);
  // A stop was requested: a pending response may never come, and the pause before the next request may be longer than our grace.
  void read_own_pod_before_stop();
  // Our own pod could not be read in time. A run id that is an input is enough to know the name of the job.
  void continue_with_run_id();
  // They are not needed any more: `done` is not called.
  void leave() { m_left = true; }

 private:
  void look(kube::Retry retry);
  void finish(Result<Facts> facts);

  Context m_context;
  std::function<void(Result<Facts>)> m_done;
  bool m_in_haste = false;
  bool m_left = false;  // or `done` was called
  Timer m_next_look;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
