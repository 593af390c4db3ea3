// In which of several clusters the job of an earlier attempt of a step is: the order of preference may have changed since then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/attempt_order.h"
#include "cluster/earlier_job.h"
#include "cluster/first_contact.h"
#include "cluster/job_place.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// Looks in all of them at once. Nothing is changed there. Why, and what a silent cluster means: docs/adr/0037-several-clusters.md.
class ClusterSearch {
 public:
  struct Context {
    kube::Client& home;  // of the cluster of the step
    AttemptOrder& order;
    const Facts& facts;                // of the step
    std::vector<std::string> secrets;  // that name the clusters
    std::string attempt;
    bool at_shell;      // somebody waits: silence is reported
    bool fresh;         // there was no earlier attempt: it is only asked which of them answer
    bool may_be_first;  // there may be no earlier attempt: a server that does not answer within seconds is not waited for
    std::function<std::unique_ptr<JobPlace>(const std::string& secret)> make_place;
    std::function<Result<plan::Plan>(const std::string& name_space)> make_plan;
    std::function<void(const std::string& line)> log;
  };
  struct Found {
    std::optional<std::size_t> cluster;    // of the first job that was found; unset: there is none where it could be looked for
    std::map<std::size_t, Error> unknown;  // where it could not
    std::vector<std::string> left;         // the origins of servers of which nothing more is asked
  };

  // References must outlive it. Calls `done` once, from the loop.
  ClusterSearch(Context context, std::function<void(const Found& found)> done);
  ClusterSearch(const ClusterSearch&) = delete;
  ClusterSearch& operator=(const ClusterSearch&) = delete;

  // A stop was requested: requests must not take long.
  void hurry();
  // `done` is not called any more.
  void leave() { m_left = true; }

 private:
  struct Candidate {
    std::unique_ptr<JobPlace> place;
    std::unique_ptr<EarlierJob> job;
    std::unique_ptr<FirstContact> first_contact;
    kube::PendingCall call;  // reads the Secret
  };

  void configured(std::size_t candidate, const kube::Answer& answer);
  void contact(std::size_t candidate, std::function<void()> answered);
  void look(std::size_t candidate);
  void confirm(std::size_t candidate);
  void settle(std::size_t candidate, std::optional<Error> why);
  void finish();

  Context m_context;
  std::function<void(const Found& found)> m_done;
  std::vector<Candidate> m_candidates;
  Found m_found;
  std::size_t m_unsettled;
  bool m_in_haste = false;
  bool m_left = false;
};

}  // namespace trainstep::cluster
