// Inputs into the pod, outputs out of it: one after another, each of them with parallel transfers. On any loop, over any transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "objectstore/listing.h"
#include "objectstore/recognition.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::staging {

struct Staged {
  std::int64_t bytes = 0;  // of content that travelled
  std::size_t files = 0;
  Duration took{};
  std::size_t equal = 0;  // files that were there already
};

struct StagingSink {
  std::function<void(const std::string& line)> tell;  // the story
  std::function<void(Result<Staged>)> done;           // once, from the loop
};

// Fetches every input to its path, over what is there; what the stores' ledger knows to be the same stays. A file is there when it is whole.
// Errors: input (nothing lies at the address), denied, unavailable, internal (no space).
class Fetching {
 public:
  // References must outlive it.
  Fetching(Stores& stores, const std::vector<plan::TaskInput>& inputs, StagingSink sink);
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  ~Fetching();

 private:
  void next();
  void fetch(const std::vector<objectstore::Object>& there);
  void moved(std::int64_t bytes);
  void fetched(const Result<void>& result);
  void finish(Result<Staged> result);
  [[nodiscard]] const plan::TaskInput& input() const { return m_inputs[m_at]; }

  Stores& m_stores;
  const std::vector<plan::TaskInput>& m_inputs;
  StagingSink m_sink;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  objectstore::SyncPlan m_plan;  // of the one under way
  Time m_told;
  std::int64_t m_moved = 0;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  Loop::TimerId m_timer = 0;
};

// Puts every output where it belongs, but for what is there already, and removes what an earlier attempt left there beside it, begun uploads
// too. What fails is tried again until `limit` has passed: the result of a training is worth it, and keys and rights can be mended meanwhile. Errors:
// of the last try; that a store does not want it is `denied`, `input` is what is wrong with the files.
class Delivery {
 public:
  // What is there already: what the stores' ledger knows, or also what has the same content – files are read for that.
  enum class Equal { known, content };
  // References must outlive it. `outputs`: those that exist at their paths and have a place in a store.
  Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, Equal equal = Equal::known);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery();

 private:
  void next();
  void compare(std::vector<objectstore::Object> there);
  void send();
  void sent(const Result<void>& result);
  void remove_others();
  void give_up_uploads();
  void give_up(std::vector<objectstore::Pending> uploads);
  void delivered();
  void failed(Error error);
  void finish(Result<Staged> result);
  [[nodiscard]] const plan::TaskOutput& output() const { return m_outputs[m_at]; }

  Stores& m_stores;
  std::vector<plan::TaskOutput> m_outputs;
  StagingSink m_sink;
  Deadline m_limit;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  objectstore::Address m_to;
  Equal m_equal;
  std::vector<objectstore::Object> m_there;
  std::vector<objectstore::LocalFile> m_files;
  objectstore::SyncPlan m_plan;
  std::vector<std::string> m_others;  // keys relative to m_to, to be removed
  std::unique_ptr<objectstore::Recognition> m_recognition;
  objectstore::Client::CallId m_call = 0;
  Duration m_pause;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  Loop::TimerId m_timer = 0;
};

// "12 files, 1.5 GB in 3.1 s", "1 file, 5 B in 0.1 s, 11 were there already"
std::string describe(const Staged& staged);

}  // namespace trainstep::staging
