// Which replica a pod is. Pure.
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
  // Members are the kind's replicas in their order, each by index: as in members_of() of rules.h.
  PodIndex(const job_types::JobType& job_type, const job_types::Resource& resource, const std::string& job_name,
           const std::vector<job_types::Replicas>& replicas);
  // By its labels, if the job owns it (docs/design/operators.md, Labels); none: it is no replica of this job (its selector may cover more, anybody
  // may have made it, or it belongs to an earlier job of this name, which its owner or its age tells: an MPI launcher's pod belongs to a Job between
  // them). `job_created`: as the API server wrote it; empty: not known.
  [[nodiscard]] std::optional<follow::MemberIndex> member_of(const Json& pod, const std::string& job_uid, const std::string& job_created = {}) const;

 private:
  std::vector<std::vector<std::string>> m_keys;          // the label keys of each form of selector
  std::map<std::string, follow::MemberIndex> m_members;  // by selector
  std::string m_launcher;                                // the Job between an MPIJob and its launcher's pod; empty: there is none
};

}  // namespace trainstep::cluster
