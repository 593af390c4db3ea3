// Whether an object is still there, by the answer to a GET of it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cluster/objects.h"
#include "kube/api_error.h"

namespace trainstep::cluster {

enum class Presence {
  there,
  gone,     // the API server names it as not found, or its name is another object's
  unknown,  // it may not be read, or what answered knows nothing of such objects
};

// A 404 that does not name the object is somebody else's on the way – a gateway's page, a resource that is not served at the moment – and says
// nothing of it.
inline bool says_absent(const kube::ApiError& error, const std::string& name) {
  return error.status == 404 && error.reason == "NotFound" && text(&error.details, "name") == name;
}

inline Presence presence_of(const kube::Answer& answer, const std::string& name, const std::string& uid) {
  if (!answer) return says_absent(answer.error(), name) ? Presence::gone : Presence::unknown;
  const auto found = uid_of(*answer);
  return found == uid ? Presence::there : found.empty() ? Presence::unknown : Presence::gone;
}

}  // namespace trainstep::cluster
