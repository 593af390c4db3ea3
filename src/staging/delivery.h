// Delivers outputs from the pod: one after another, each with parallel transfers. Runs on any loop, over any transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "objectstore/listing.h"
#include "plan/task.h"
#include "staging/delivery_options.h"
#include "staging/output_delivery.h"
#include "staging/staged.h"
#include "staging/stores.h"
#include "staging/written_record.h"

namespace trainstep::staging {

// Delivers every output to its address, except for files that are already there, and removes what an earlier attempt of the job left there, including
// incomplete uploads; objects that the job has not written stay. Outside the job's own prefix, it completes once a listing shows everything that it
// has written. If another pod of the job has written there meanwhile, everything is uploaded again; if the record of that pod (WrittenObjects) is
// gone, the step has already finished: conflict. Failures are retried until `limit` has passed: the result of a training run is worth it, and
// credentials and permissions can be fixed meanwhile. An output that has changed since the program ended is not delivered, and what was written
// outside the job's prefix is removed again. Errors: that of the last attempt; `denied` if the store rejects an output, `input` if the files are
// invalid, `conflict` if they were changed; cancelled.
class Delivery {
 public:
  // References must outlive it. `outputs`: those that exist at their paths and have an address in a store.
  Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, DeliveryOptions options = {});
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Ends it soon: what is not delivered by then is abandoned, and what it has written outside the job's prefix is removed again. `why`: the error
  // that it ends with.
  void stop(Error why);

 private:
  void next();
  void load_written();
  [[nodiscard]] std::unique_ptr<OutputDelivery> delivery_of_output();
  void next_output();
  void failed(Error error);
  // In vain: stop() or withdraw() → stop_now() → retract(), which removes what was put → finish().
  void withdraw(Error why);
  void stop_now();
  void retract();
  void finish(Result<Staged> result);
  [[nodiscard]] const plan::TaskOutput& output() const { return m_outputs[m_at]; }

  Stores& m_stores;
  std::vector<plan::TaskOutput> m_outputs;
  StagingSink m_sink;
  DeliveryOptions m_options;
  Deadline m_limit;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  WrittenRecord m_written;
  std::unique_ptr<OutputDelivery> m_output;  // of the current output
  // By store and address: what we have written outside the job's prefix.
  std::map<std::pair<std::size_t, std::string>, objectstore::Address> m_put;
  std::unique_ptr<objectstore::Removal> m_removal;  // of these
  Duration m_pause;
  bool m_ending = false;   // only removal is left
  bool m_stopped = false;  // stop() was called: what is being transferred may finish
  Error m_stop_reason{};
  Timer m_timer, m_stop_timer, m_hurry_timer;
};

}  // namespace trainstep::staging
