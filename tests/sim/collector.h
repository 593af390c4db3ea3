// Deleting as Kubernetes does it: deletionTimestamp, finalizers, grace periods, and the garbage collector that follows owner references.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "sim/store.h"

namespace trainstep::sim {

enum class Propagation { foreground, background, orphan };

class Collector {
 public:
  // References must outlive it.
  Collector(Store& store, Random random);
  // What a DELETE does. Null: it is gone; else the object as it stands now (a pod within its grace period, or finalizers hold it).
  VersionPtr remove(const VersionPtr& object, Propagation propagation, std::optional<std::int64_t> grace_seconds = {});
  // The garbage collector does nothing until then.
  void stop_until(Time time) { m_down_until = time; }

 private:
  void heard(const Happening& happening);
  void later(std::function<void()> task);
  void visit(const std::string& owner_uid);   // is being deleted, or is gone
  void check_owners(const std::string& uid);  // a new object whose owners may never have existed
  void drop(const VersionPtr& dependent, const std::string& owner_uid, Propagation propagation);

  Store& m_store;
  Random m_random;
  Time m_down_until;
};

}  // namespace trainstep::sim
