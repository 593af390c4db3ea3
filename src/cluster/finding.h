// What `check` finds, one sentence each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trainstep::cluster {

struct Finding {
  enum class Severity { ok, warning, error };  // warning: it will run, but wait or report less; or it depends on something unknown
  Severity severity = Severity::ok;
  std::string text;
};

}  // namespace trainstep::cluster
