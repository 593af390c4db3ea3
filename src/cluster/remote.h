// Another cluster to train in: what the Secret named by cluster_configuration_secret says. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"
#include "kube/credentials.h"

namespace trainstep::cluster {

// `secret`: the Secret object. Keys: `kubeconfig` (with `remote-context`), or `remote-host` and `remote-token`, with `remote-ca` (PEM) or
// `insecure-skip-tls-verify: "true"`; `remote-namespace` counts above the kubeconfig's. Errors (input): name the Secret and the key, never a value.
Result<kube::Credentials> remote_credentials(const Json& secret);

}  // namespace trainstep::cluster
