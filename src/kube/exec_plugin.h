// Runs exec plug-ins: programs on this machine that know a token or a client certificate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "kube/credentials.h"
#include "kube/exec_credential.h"

namespace trainstep::kube {

constexpr Duration plugin_limit{60'000};

// What the program prints; its stderr is ours, its stdin empty. Waits for it, for `limit` at most; then it is killed with its process group.
// Errors: input (it cannot be run; with its hint how to install it), denied (exit code, limit).
Result<std::string> run_exec_plugin(const ExecPlugin& plugin, Duration limit = plugin_limit);

// Runs it at the first token(), shortly before what it gave expires, and after it was refused. `endpoint` is that of the server.
std::unique_ptr<TokenSource> exec_token(ExecPlugin plugin, std::shared_ptr<const http::Endpoint> endpoint, Duration limit = plugin_limit);

}  // namespace trainstep::kube
