// What a refusal of a container's log means. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/api_error.h"

namespace trainstep::kube {

enum class LogRefusal {
  wait,       // the container has not started, or the kubelet does not know it yet
  again,      // it may be served soon: the server is busy, or does not accept the token at present
  gone,       // there is no such pod
  permanent,  // anything else: a missing permission, for example
};

// `error`: of a response with a status that is not a 2xx (kubernetes, pkg/kubelet/kubelet_pods.go, validateContainerLogStatus).
LogRefusal log_refusal_of(const ApiError& error);

}  // namespace trainstep::kube
