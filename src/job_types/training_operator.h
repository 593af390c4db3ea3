// Common to the job types of the training operator (kubeflow.org/v1), and partly to mpi-operator: replica specs, run policy, labels, conditions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job_types/job_type.h"
#include "job_types/pod_template.h"

namespace trainstep::job_types {

// A resource of kubeflow.org/v1. Its controller counts only restarts in place against backoffLimit (docs/design/operators.md, Limits).
Resource v1_resource(std::string_view kind, std::string_view plural);

// spec.runPolicy, without backoffLimit.
Manifest run_policy(const plan::Plan& plan);

// spec.runPolicy of the training operator. Its backoffLimit counts only restarts in place, so it is omitted with Never: before 1.9.4, reaching the
// limit (0 is reached by the first failure) deleted all pods and their logs (docs/design/operators.md, Limits).
Manifest v1_run_policy(const plan::Plan& plan);

// One entry of a replica map: {replicas, restartPolicy, template}. `replicas` is always set: the webhooks reject a Master without it
// (docs/design/operators.md, Job types).
Manifest replica_spec(const plan::Plan& plan, const Replicas& replicas, const std::string& restart_policy, const PodShape& shape);

// The restart policy of all v1 replicas. Error (input): Always, because a program that has succeeded would be restarted.
Result<std::string> v1_restart_policy(const plan::Plan& plan);

// Succeeded takes precedence if both it and Failed are true: the operator writes Succeeded when the deciding replicas have exited with 0, and TFJob
// and elastic PyTorchJob then add Failed in the same pass because of another replica (docs/design/operators.md, Success and failure).
Judgement judge_v1(const Json& object);

// A Service for each replica (docs/design/operators.md, Objects).
std::vector<std::pair<std::string_view, int>> services(const plan::Plan& plan, const Resource& resource);

// By the operator's labels (docs/design/operators.md, Labels); `operator_name`: "pytorchjob-controller".
std::string v1_pods(std::string_view operator_name, const std::string& job_name, const std::string& type, int index);

}  // namespace trainstep::job_types
