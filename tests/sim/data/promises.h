// Holds what happens to the data against what was promised (docs/data.md; README.md has the three promises).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/data/pod.h"

namespace trainstep::sim::data {

class Promises {
 public:
  // Watches the store from now on. References must outlive it.
  Promises(Truth& truth, ObjectStore& store, const plan::DataPlan& plan);

  // An attempt of the job has ended by itself.
  void judge(const Ended& ended, bool primary);
  // A replica lives: nothing may change but what is its own.
  void hands_off(bool off) { m_hands_off = off; }
  // The step removes what was the job's.
  void clean_up() { m_cleaning = true; }
  // After a success: the step has fetched this.
  void judge_fetched(const std::string& artifact, const Tree& tree);
  // After the step's clean-up.
  void judge_rest();

  [[nodiscard]] bool finished() const { return m_finished != nullptr; }
  [[nodiscard]] const Run* told() const { return m_told; }  // the run that was told as the job's success
  // The epoch that the newest complete set of checkpoints leads to; 0: none. `primary`: else those that a replica of an indexed job has for itself.
  [[nodiscard]] int kept(bool primary) const;
  // The attempt has ended, in whatever way, and nothing of it is under way any more: its last run.
  void judge_checkpoints(const Run& run, bool looked_once_more, bool primary);
  // The step was killed while it fetched: what lies at the place of an artifact, where `before` lay.
  void judge_half_fetched(const std::string& artifact, const Tree& tree, const Tree& before);
  // The report of the finished training, as the record has it.
  [[nodiscard]] std::optional<result::PodReport> record() const;

 private:
  void changed(const std::string& where);
  void judge_success(const Ended& ended);
  void judge_failure(const Ended& ended);
  void judge_input(const Ended& ended);
  [[nodiscard]] const Run* run_of(const result::PodReport& report) const;
  [[nodiscard]] std::string incomplete(const Run& run) const;
  [[nodiscard]] bool was_written(const std::string& place) const;
  [[nodiscard]] std::string checkpoints(bool primary) const;
  [[nodiscard]] std::map<std::string, std::string> newest_set(bool primary) const;
  void judge_stopped(const Ended& ended);
  void judge_foreign();
  [[nodiscard]] bool out_of_time(const Ended& ended) const;
  [[nodiscard]] bool store_was_away(Time from, Time to) const;

  Truth& m_truth;
  ObjectStore& m_store;
  const plan::DataPlan& m_plan;
  const Run* m_finished = nullptr;  // its record is there
  const Run* m_told = nullptr;
  bool m_hands_off = false, m_cleaning = false;
};

}  // namespace trainstep::sim::data
