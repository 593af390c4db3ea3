// What the controllers of training jobs have in common: they look at a job and its pods whenever one of them changes, and do what is missing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collector.h"
#include "sim/store.h"

namespace trainstep::sim {

class Controller {
 public:
  // Says why a pod may not be created (quota), or nothing.
  using Refusal = std::function<std::optional<std::string>(const Json& pod)>;
  // References must outlive it.
  Controller(Store& store, Collector& collector, Random random);
  virtual ~Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void refuse_pods(Refusal refusal) { m_refusal = std::move(refusal); }
  // What webhooks make of each pod that is to be created.
  void change_pods(std::function<void(Json& pod)> change) { m_change = std::move(change); }
  // Its clock against the API server's.
  void set_clock(Duration error) { m_clock = error; }
  // Down until then: it does nothing, and looks at everything afterwards.
  void stop_until(Time time) { m_down_until = time; }

 protected:
  virtual bool is_ours(const Resource& resource) const = 0;
  virtual void reconcile(const VersionPtr& job) = 0;

  // Looks at the job again; several calls become one look.
  void wake(const std::string& uid, std::optional<Duration> delay = {});
  // The pods it controls, by name.
  [[nodiscard]] std::vector<VersionPtr> pods_of(const VersionPtr& job) const;
  // False: refused, with a Warning event about the job.
  bool create_pod(const VersionPtr& job, const std::string& name, const Json& pod_template, const Json& labels, std::string_view restart_policy,
                  const Json& finalizers = nullptr);
  void delete_pod(const VersionPtr& pod) { m_collector.remove(pod, Propagation::background); }
  // Replaces status where it differs.
  void write_status(const VersionPtr& job, Json status);
  [[nodiscard]] Time clock() const { return m_store.loop().now() + m_clock; }
  [[nodiscard]] std::string now() const { return to_rfc3339(clock()); }

  Store& m_store;
  Collector& m_collector;
  Random m_random;

 private:
  void heard(const Happening& happening);
  void resync(const std::string& uid);
  void try_again(const std::string& uid, Duration pause);
  Refusal m_refusal;
  std::function<void(Json& pod)> m_change;
  Time m_down_until;
  Duration m_clock{0};
  std::set<std::string> m_awake, m_waiting;  // jobs that are looked at soon; whose pods could not be created
};

// status.conditions of the Kubeflow operators (docs/design/operators.md, Conditions): a condition that is set goes to the end of the list; Running
// and Restarting exclude each other; an end makes Running False.
void set_operator_condition(Json& status, const std::string& type, bool holds, const std::string& reason, const std::string& message,
                            const std::string& now);
bool has_condition(const Json& status, std::string_view type);

Json controller_reference(const VersionPtr& owner);
std::string_view phase_of(const Version& pod);
// Of the program's container, whose name comes last; -1: it has no status.
std::int64_t exit_code_of(const Version& pod);
std::int64_t restarts_of(const Version& pod);
// Seconds since the epoch of an RFC 3339 time as this world writes them; 0 for "".
std::int64_t seconds_of(std::string_view time);

}  // namespace trainstep::sim
