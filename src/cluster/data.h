// How a step in a cluster can transfer data: claims, object stores, the image with the agent.
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

// Addresses of the plan's paths are looked up in KFP's configuration: that of the artifact (store_session_info), otherwise the ConfigMap. Errors:
// input, with the name of the parameter.
Result<plan::DataFacts> data_facts(const plan::Plan& plan, const Facts& facts);

// Sets plan.data according to the facts. Errors: input.
Result<void> route_data(plan::Plan& plan, const Facts& facts);

// The program's outputs according to the report of the primary. Error: input (a value of another type).
Result<std::vector<run::OutputFound>> outputs_of(const plan::Plan& plan, const result::PodReport& report);

// Whether one of the step's paths is an address: then find_stores() is worth its request.
bool has_addresses(const plan::Request& request);

// The ConfigMap in which KFP configures the object stores of a namespace.
inline constexpr std::string_view launcher_config = "kfp-launcher";

// The ConfigMap kfp-launcher of the namespace, as far as it configures object stores ("": not set). If the API server says that there is none, or for
// some seconds that it may not be read, KFP's defaults apply, which is reported to `say`. Errors: unavailable; what a gateway says for some seconds.
struct LauncherConfig {
  std::string providers;
  std::string root;  // "defaultPipelineRoot": where artifacts of the namespace go
};
using Log = std::function<void(const std::string& line)>;
void find_launcher_config(kube::Client& client, const std::string& name_space, const Log& log, std::function<void(Result<LauncherConfig>)> done);
// Only its "providers".
void find_stores(kube::Client& client, const std::string& name_space, const Log& log, std::function<void(Result<std::string>)> done);

// Outputs that pods put on claims which the step has mounted, by name: their paths in the step.
std::map<std::string, std::string> on_claims(const plan::Plan& plan);

// Where the results of a training run are, for messages: the addresses of its outputs, their paths on claims, and the job's own prefix if it holds
// what the step downloads, or if there is nothing else.
std::string delivered_to(const plan::Plan& plan);

}  // namespace trainstep::cluster
