// Whether an object still exists, by the response to a GET of it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cluster/objects.h"
#include "kube/api_error.h"

namespace trainstep::cluster {

enum class Presence {
  there,
  gone,     // the API server reports it as not found, or its name belongs to another object
  unknown,  // it may not be read, or the server does not know such objects
};

inline Presence presence_of(const kube::Answer& answer, const std::string& name, const std::string& uid) {
  if (!answer) return kube::tells_absent(answer.error(), name) ? Presence::gone : Presence::unknown;
  const auto found = uid_of(*answer);
  return found == uid ? Presence::there : found.empty() ? Presence::unknown : Presence::gone;
}

}  // namespace trainstep::cluster
