// Fetches inputs into the pod: one after another, each with parallel transfers. Runs on any loop, over any transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "objectstore/listing.h"
#include "objectstore/sync.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/staged.h"
#include "staging/stores.h"

namespace trainstep::staging {

// Downloads every input to its path and overwrites what is there; files that are identical according to the stores' sync state stay. A file appears
// only when it is complete. Below `own`, an address of the job, an input is exactly what its list says was delivered; what is not there as it was
// delivered, or is refused, is requested again for a while. Errors: input (nothing is at the address), denied, unavailable, internal (no space).
class Fetching {
 public:
  // References must outlive it. `what`: for messages.
  Fetching(Stores& stores, const std::vector<plan::TaskInput>& inputs, StagingSink sink, std::string own = "", std::string_view what = "input");
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  // What was still missing below `own` after waiting. some: objects are not there as they were delivered; all: the list of what was delivered is not
  // there, nor is anything, unless a listing shows it.
  enum class Lost { nothing, some, all };
  [[nodiscard]] Lost lost() const { return m_lost; }

 private:
  void next();
  void ask_for_list();
  void failed(Error error, Lost lost = Lost::some);
  void check_own_key(const objectstore::Address& at, std::vector<objectstore::Object> there);
  void fetch(const std::vector<objectstore::Object>& there);
  void make_folder();
  void moved(std::int64_t bytes);
  void fetched_one();
  void fetched(const Result<void>& result);
  void finish(Result<Staged> result);
  [[nodiscard]] const plan::TaskInput& input() const { return m_inputs[m_at]; }
  [[nodiscard]] bool is_own() const { return !m_own.empty() && input().from.uri.starts_with(m_own + '/'); }

  Stores& m_stores;
  const std::vector<plan::TaskInput>& m_inputs;
  StagingSink m_sink;
  std::string m_own;
  std::string_view m_what;
  std::optional<Deadline> m_limit;  // for objects that are not as they were delivered
  Lost m_lost = Lost::nothing;
  Duration m_pause{};
  objectstore::PendingCall m_call;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  objectstore::SyncPlan m_plan;  // of the current input
  Time m_last_progress;
  std::int64_t m_moved = 0;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  Timer m_timer;
};

}  // namespace trainstep::staging
