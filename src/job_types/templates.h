// The pod templates in a job's object: batch/v1 Job has one, the operators' resources one for each type of replica. Any JSON is allowed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "job_types/job_type.h"

namespace trainstep::job_types {

struct PodTemplate {
  std::string pointer;  // "/spec/template", "/spec/mpiReplicaSpecs/Worker/template"
  std::string type;     // of its replicas; empty: the Job's, whatever their type is called
  const Json* json;     // in the job
};
std::vector<PodTemplate> pod_templates(const Json& job);

// The `replicas` of a type in an operator's resource; 1 where it does not say, 0 where it has none of that type.
int replica_count(const Json& job, const std::string& type);

// The container in which the program runs, by the job's own template for this type; what webhooks add to pods has no part in it. A patch may have put
// others before the job type's own; where it has given that one another name, it is the first. Empty: the job has no such template.
std::string program_container(const JobType& job_type, const Json& job, const std::string& type);

}  // namespace trainstep::job_types
