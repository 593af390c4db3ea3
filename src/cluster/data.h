// What a step in a cluster knows of the ways of its data: claims, object stores, the image that holds the agent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/facts.h"
#include "kube/client.h"
#include "plan/plan.h"
#include "result/pod_report.h"
#include "run/backend.h"

namespace trainstep::cluster {

// The plan's paths that have an address are looked up in KFP's configuration: what came with the artifact (store_session_info), else the ConfigMap.
// Errors: input, naming the parameter.
Result<plan::DataFacts> data_facts(const plan::Plan& plan, const Facts& facts);

// plan.data, as the facts lead. Errors: input.
Result<void> route_data(plan::Plan& plan, const Facts& facts);

// What the primary's report says of the program's outputs. Error: input (a value of another type).
Result<std::vector<run::OutputFound>> outputs_of(const plan::Plan& plan, const result::PodReport& report);

// Whether an address stands among the step's paths: then find_stores() is worth its request.
bool has_addresses(const plan::Request& request);

// The ConfigMap in which KFP says, for each namespace, where object stores are.
inline constexpr std::string_view launcher_config = "kfp-launcher";

// What the ConfigMap kfp-launcher of the namespace says of object stores ("": nothing). That it is not there, or may not be read, is
// nothing, too: KFP's defaults count. Errors: unavailable.
struct LauncherConfig {
  std::string providers;
  std::string root;  // "defaultPipelineRoot": where artifacts of the namespace go
};
void find_launcher_config(kube::Client& client, const std::string& name_space, std::function<void(Result<LauncherConfig>)> done);
// Only "providers" of it.
void find_stores(kube::Client& client, const std::string& name_space, std::function<void(Result<std::string>)> done);

// Outputs that pods put on claims which the step has mounted, by name: where the step finds them.
std::map<std::string, std::string> on_claims(const plan::Plan& plan);

// Where what a training has delivered lies, for messages: the addresses of its outputs, their places on claims, and the job's own prefix, where what
// the step fetches lies, or nothing else.
std::string delivered_to(const plan::Plan& plan);

}  // namespace trainstep::cluster
