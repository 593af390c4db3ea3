// Runs exec plug-ins: programs on this machine that return a token or a client certificate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "kube/credentials.h"
#include "kube/exec_credential.h"

namespace trainstep::kube {

constexpr Duration plugin_limit{60'000};

// The program's output; its stderr is ours, its stdin empty. Waits for at most `limit`, then kills it with its process group. Errors: input (it
// cannot be run; with its installation hint), denied (exit code, limit).
Result<std::string> run_exec_plugin(const ExecPlugin& plugin, Duration limit = plugin_limit);

// Runs the plug-in at the first token(), shortly before its credentials expire, and after they were rejected. `endpoint` is that of the server.
std::unique_ptr<TokenSource> exec_token(ExecPlugin plugin, std::shared_ptr<const http::Endpoint> endpoint, Duration limit = plugin_limit);

}  // namespace trainstep::kube
