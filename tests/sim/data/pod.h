// A training pod: its folders, which outlive its containers, and one life of the agent after another in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "result/pod_report.h"
#include "sim/data/training.h"

namespace trainstep::sim::data {

// How an attempt is disturbed. A SIGTERM is followed by a SIGKILL, as the kubelet does it.
struct Doom {
  enum class Sort { none, before_call, after_call, after_tasks, at_time, terminated };
  Sort sort = Sort::none;
  int count = 0;  // of calls to the store, or of tasks
  Duration after{};
};
// `kept`: checkpoints that will be brought back, which is a good moment.
Doom some_doom(Random& random, const Scenario& scenario, int kept);

// How an attempt ended by itself.
struct Ended {
  int exit_code = 0;
  std::optional<result::PodReport> told;  // the termination message, if it is a report
  const Run* run = nullptr;               // of the program, if it ran
  Time began{}, at{};
  bool truncated = false;   // a body was truncated undetectably
  bool terminated = false;  // a SIGTERM came
};

class Pod {
 public:
  // `folder`: of its own, gone with it.
  Pod(std::filesystem::path folder, Truth& truth, plan::Task task);
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;
  ~Pod();

  // A container begins; its program would end so. None: it was killed.
  std::optional<Ended> live(SimLoop& world, StoreNetwork& network, bool primary, Doom doom, End end, int kept);

 private:
  std::filesystem::path m_folder;
  Truth& m_truth;
  plan::Task m_task;
  bool m_lived = false;
};

}  // namespace trainstep::sim::data
