// What a pod is told of itself.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <map>
#include <string>

#include "cli/cluster_connection.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cli;

namespace {

cluster::OwnPod own_pod_with(const std::map<std::string, std::string>& variables) {
  constexpr std::array names{"KFP_POD_NAME", "POD_NAME", "HOSTNAME", "ARGO_NODE_ID", "WORKFLOW_NODE_ID"};
  std::map<std::string, std::string> before;
  for (const auto* name : names) {
    if (const auto* value = std::getenv(name)) before[name] = value;
    const auto wanted = variables.find(name);
    wanted == variables.end() ? ::unsetenv(name) : ::setenv(name, wanted->second.c_str(), 1);
  }
  auto pod = own_pod();
  for (const auto* name : names) before.contains(name) ? ::setenv(name, before[name].c_str(), 1) : ::unsetenv(name);
  return pod;
}

}  // namespace

TEST_CASE("a pod's name is what the downward API says, whole, before its host name, which ends after 63 characters") {
  const std::string name(80, 'a');
  const auto host = name.substr(0, 63);
  CHECK(own_pod_with({{"POD_NAME", name}, {"HOSTNAME", host}}).name == name);
  CHECK(own_pod_with({{"KFP_POD_NAME", name}, {"POD_NAME", ""}, {"HOSTNAME", host}}).name == name);
  CHECK(own_pod_with({{"HOSTNAME", host}}).name == host);
  CHECK(own_pod_with({{"HOSTNAME", host}, {"ARGO_NODE_ID", "wf-7"}}).node_id == "wf-7");
  CHECK(own_pod_with({}).name.empty());
}

TEST_CASE("the Workflow node of a pod is taken from Argo, otherwise from the downward API") {
  CHECK(own_pod_with({{"WORKFLOW_NODE_ID", "wf-7"}}).node_id == "wf-7");
  CHECK(own_pod_with({{"ARGO_NODE_ID", ""}, {"WORKFLOW_NODE_ID", "wf-7"}}).node_id == "wf-7");
  CHECK(own_pod_with({{"ARGO_NODE_ID", "wf-8"}, {"WORKFLOW_NODE_ID", "wf-7"}}).node_id == "wf-8");
  CHECK(own_pod_with({{"WORKFLOW_NODE_ID", ""}}).node_id.empty());
}
