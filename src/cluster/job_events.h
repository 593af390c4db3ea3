// Warning events of a job, of the Job of its MPI launcher, and of its pods.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "follow/event.h"
#include "job_types/job_type.h"
#include "kube/client.h"
#include "kube/watch.h"

namespace trainstep::cluster {

class JobEvents {
 public:
  struct Job {
    job_types::Resource resource;
    std::string name_space;
    std::string name;
    std::string uid;
    std::string created;  // as written by the API server
  };
  // Called from the loop.
  struct Sink {
    std::function<void(follow::WarningSeen warning)> warning;  // of the job or its launcher
    // Of any pod in the namespace. `last`: when it happened last, by the cluster's clock; unset: now.
    std::function<void(const std::string& uid, const Json& event, std::optional<Time> last)> pod_warning;
    std::function<void(const std::string& why)> forbidden;
  };

  // The client must outlive it. Begins to watch the events of the job and of its launcher.
  JobEvents(kube::Client& client, Job job, Sink sink);
  JobEvents(const JobEvents&) = delete;
  JobEvents& operator=(const JobEvents&) = delete;

  // From now on, those of all pods in the namespace: the pods of a gang are too many for a request each.
  void watch_pods();

 private:
  void watch(const std::string& object);
  void take(const Json& event);
  void take_of_launcher(const Json& event);
  [[nodiscard]] bool is_younger_than_job(const Json& event) const;

  kube::Client& m_client;
  Job m_job;
  Sink m_sink;
  std::string m_launcher;                             // the name of its Job; empty: the job has none
  std::map<std::string, bool> m_launchers;            // uids of Jobs with that name: whether they belong to this MPIJob
  std::map<std::string, std::vector<Json>> m_unsure;  // events of Jobs for which that is being determined
  std::vector<kube::PendingCall> m_asked;
  std::vector<std::unique_ptr<kube::Watch>> m_watches;
};

}  // namespace trainstep::cluster
