// Removes what a job has put into object stores and on claims.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "base/loop.h"
#include "base/result.h"
#include "objectstore/listing.h"
#include "plan/plan.h"
#include "staging/delivery.h"
#include "staging/stores.h"

namespace trainstep::cluster {

// Nothing is removed once the next attempt may have started, whose data are in the same places. Each function calls `done` once, from the loop.
class StepDataRemoval {
 public:
  using Done = std::function<void(Result<void>)>;
  struct Context {
    Loop& loop;
    const plan::Plan& plan;
    std::function<void(std::function<void(Result<staging::Stores*>)>)> open;  // the stores of the plan
    std::function<void(std::function<void(Result<bool>)>)> replaced;          // StepData::Context::replaced
    std::function<std::string()> job_attempt;                                 // of the followed job, which signs what it puts on a claim
    std::function<void(const std::string& line)> log;
  };

  // References must outlive it.
  explicit StepDataRemoval(Context context);
  StepDataRemoval(const StepDataRemoval&) = delete;
  StepDataRemoval& operator=(const StepDataRemoval&) = delete;

  // The functions of StepData. `looks`: how often, because an upload that was cancelled may still take effect.
  void remove_inputs(int looks, const Done& done);
  void remove_prefix(const Done& done);
  void remove_unfinished(bool checkpoints_stay, Duration limit, const Done& done);
  [[nodiscard]] std::vector<std::string> left_on_claims() const;

 private:
  void open(Done done);
  void remove(const std::string& uri, int looks, Done done);
  void unless_replaced(const Done& done, std::function<void()> task);
  Result<void> take_back_from_claims();
  void retract(const std::vector<plan::TaskOutput>& seen, bool checkpoints_stay, Duration limit, const Done& done);
  void remove_rest(bool checkpoints_stay, const Done& done);
  void remove_all_but_checkpoints(const Done& done);
  void later(std::function<void()> task);

  Context m_context;
  staging::Stores* m_stores = nullptr;  // once they are open
  std::unique_ptr<staging::Delivery> m_retraction;
  std::unique_ptr<objectstore::Removal> m_removal;
  Timer m_next_removal;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
