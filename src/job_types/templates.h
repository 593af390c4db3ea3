// The pod templates in a job's object: a batch/v1 Job has one, the operators' resources one per replica type. Accepts any JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "job_types/job_type.h"

namespace trainstep::job_types {

struct PodTemplate {
  std::string pointer;  // "/spec/template", "/spec/mpiReplicaSpecs/Worker/template"
  std::string type;     // the replica type; empty: the template of a Job, for any type
  const Json* json;     // points into the job
};
// The pod templates of a job of any type, in the order of the manifest; empty if it has none.
std::vector<PodTemplate> pod_templates(const Json& job);

// The `replicas` of a type in an operator's resource; 1 if not set, 0 if it does not have that type.
int replica_count(const Json& job, const std::string& type);

// The container in which the program runs, according to the job's own template for this type; containers added to pods by webhooks do not matter. A
// patch may have added others before the job type's own container; if it has renamed that one, the first container is used. Empty: the job has no
// such template.
std::string program_container(const JobType& job_type, const Json& job, const std::string& type);

}  // namespace trainstep::job_types
