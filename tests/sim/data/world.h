// One job's data from its beginning to its end, on virtual time: the step brings inputs, one attempt after another trains, the step collects.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/step_data.h"
#include "sim/data/promises.h"

namespace trainstep::sim::data {

class World {
 public:
  // `folder`: of its own, for the pods' files; emptied at the end. `story`: what happens is to be told.
  World(std::uint64_t seed, std::filesystem::path folder, bool trace);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  // → the promises that were not kept.
  std::vector<std::string> run();
  [[nodiscard]] const std::string& trace() const { return m_trace.text(); }

 private:
  void furnish();
  void leave_stale();
  void leave_attempt();
  void leave_foreign();
  // The step's data do something, in as many lives as it takes. `work` begins it.
  Result<void> step(const std::function<void(cluster::StepData&, std::function<void(Result<void>)>)>& work);
  bool upload_inputs();
  bool train();
  bool attempt(Pod& pod, bool primary, bool calm);
  void collect();
  void leave_strangers(const std::vector<plan::StagedPath>& beside);
  bool lose_an_object();
  StoreNetwork& network(bool calm);
  [[nodiscard]] std::filesystem::path fresh_folder() { return m_folder / std::to_string(++m_folders); }

  SimLoop m_loop;
  Trace m_trace;
  Random m_random;
  Scenario m_scenario;
  std::filesystem::path m_folder;
  int m_folders = 0;
  ObjectStore m_store;
  Truth m_truth;
  plan::Plan m_plan;
  std::unique_ptr<Promises> m_promises;
  std::function<void()> m_after_kill;                    // of the step: what must be true then
  std::deque<std::unique_ptr<StoreNetwork>> m_networks;  // what was sent arrives even after its sender's end
};

}  // namespace trainstep::sim::data
