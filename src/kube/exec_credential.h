// The protocol of exec plug-ins: client.authentication.k8s.io/v1 and v1beta1.
// https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "data/json.h"

namespace trainstep::kube {

struct ExecPlugin {
  std::string api_version;
  std::string command;  // with a slash: a path; otherwise it is searched for in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // in addition to our own
  std::string install_hint;
  std::string info;  // KUBERNETES_EXEC_INFO
};

// Parses `exec` of a kubeconfig's user, with the context `where` for messages; `folder` is that of the kubeconfig. `cluster`: passed to the plug-in
// if it requests that (provideClusterInfo). Errors (input): an unknown version, a plug-in that requires a terminal, wrong types.
Result<ExecPlugin> read_exec_plugin(const Json& exec, const std::string& where, const std::string& folder, const Json& cluster);

struct ExecCredential {
  std::string token;            // empty: none
  std::string certificate_pem;  // empty: none
  std::string key_pem;
  std::optional<Time> expires;
};

// Parses the plug-in's output. Errors (input) name the plug-in and never quote the output.
Result<ExecCredential> read_exec_credential(const std::string& printed, const ExecPlugin& plugin);

}  // namespace trainstep::kube
