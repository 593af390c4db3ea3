// Decides in which of several clusters the job of a step is, or is to be (docs/adr/0037-several-clusters.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "cluster/attempt_order.h"
#include "cluster/cluster_preference.h"
#include "cluster/cluster_search.h"
#include "cluster/facts.h"
#include "cluster/job_place.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// The cluster where an earlier attempt has left its job; otherwise one after another in the order of preference, until the caller keeps one. With one
// cluster, or none but that of the step, there is nothing to decide.
class ClusterChoice {
 public:
  using Log = std::function<void(const std::string& line)>;
  struct Context {
    Loop& loop;
    kube::Client& home;      // of the cluster of the step
    const Facts& facts;      // of the step; known before begin()
    std::string name_space;  // of the step
    std::string attempt;     // this one
    bool in_pod;
    std::function<std::unique_ptr<JobPlace>(const std::string& secret, Log log)> make_place;
    std::function<Result<plan::Plan>(const std::string& name_space)> make_plan;
    Log log;
    std::function<void(const std::string& origin)> leaves;  // nothing more is asked of the API server there
  };
  struct Sink {
    std::function<void()> use;                // secret() names the cluster to try
    std::function<void(Error why)> failed;    // no cluster can take the job, or it is unknown where a job of this run is
    std::function<void(bool surely)> no_job;  // after stop(): no job of this run was found; `surely`: all clusters have answered
  };

  // `secrets`: as in cluster_configuration_secret. References must outlive it.
  ClusterChoice(Context context, std::vector<std::string> secrets, Sink sink);
  ClusterChoice(const ClusterChoice&) = delete;
  ClusterChoice& operator=(const ClusterChoice&) = delete;

  // Calls one function of the sink: of a single cluster immediately, otherwise from the loop.
  void begin(AttemptOrder& order);
  // A stop was requested, before or after begin(): only a job that exists matters.
  void stop() { m_stopped = true; }
  // Requests must not take long.
  void hurry();
  [[nodiscard]] bool is_searching() const { return m_search != nullptr; }
  // The sink is not called any more.
  void leave();

  // Of the cluster to try; empty: that of the step.
  [[nodiscard]] const std::string& secret() const { return m_preference.secret(); }
  [[nodiscard]] bool has_several() const { return m_preference.has_several(); }
  // Whether another cluster could get the job instead.
  [[nodiscard]] bool has_others() const { return m_preference.has_others(); }
  // It cannot take the job (`why`), or only later: calls `use` for the next one, or `failed`.
  void refuse(const Error& why);
  void postpone(const std::string& why);
  // It gets the job. `where`: its address, for the log.
  void keep(const std::string& where);

 private:
  [[nodiscard]] bool is_fresh() const;
  [[nodiscard]] bool may_be_first() const;
  void searched(const ClusterSearch::Found& found);
  void go_on(const std::string& why);

  Context m_context;
  ClusterPreference m_preference;
  Sink m_sink;
  std::unique_ptr<ClusterSearch> m_search;  // while it is unknown whether a job is in one of several clusters
  bool m_stopped = false, m_in_haste = false;
  bool m_left = false;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
