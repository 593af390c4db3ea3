// SPDX-License-Identifier: Apache-2.0
#include "kube/log_refusal.h"

#include "base/text.h"
#include "data/json.h"

namespace trainstep::kube {

LogRefusal log_refusal_of(const ApiError& error) {
  if (error.status == 401 || retryable(error)) return LogRefusal::again;
  if (error.status == 404) {
    const auto* kind = error.details.is_object() ? find(error.details, "kind") : nullptr;
    return kind != nullptr && *kind == "pods" ? LogRefusal::gone : LogRefusal::wait;
  }
  const auto& message = error.error.message;
  if (error.status == 400 && (contains(message, " waiting to start") || contains(message, " is terminated"))) return LogRefusal::wait;
  return LogRefusal::permanent;
}

}  // namespace trainstep::kube
