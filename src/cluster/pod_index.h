// Finds the replica of a pod. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "follow/event.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {

class PodIndex {
 public:
  // Members are the replicas of the job type in their order, each by index: as in rules_of() of rules.h.
  PodIndex(const job_types::JobType& job_type, const job_types::Resource& resource, const std::string& job_name,
           const std::vector<job_types::Replicas>& replicas);
  // By its labels, if the job owns it (docs/design/operators.md, Labels); nullopt: it is not a replica of this job (its selector may match more,
  // it may have been created by another client, or belong to an earlier job of this name, as its owner or age shows: the pod of an MPI launcher
  // belongs to a Job in between). `job_created`: as written by the API server; empty: unknown.
  [[nodiscard]] std::optional<follow::MemberIndex> member_of(const Json& pod, const std::string& job_uid, const std::string& job_created = {}) const;

 private:
  std::vector<std::vector<std::string>> m_keys;          // the label keys of each form of selector
  std::map<std::string, follow::MemberIndex> m_members;  // by selector
  std::string m_launcher;                                // the Job between an MPIJob and the pod of its launcher; empty: there is none
};

}  // namespace trainstep::cluster
