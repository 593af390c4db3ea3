// What a job that was suspended shows of its past.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/has_run.h"

#include <string>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;

namespace {

bool has_run_with(const std::string& status) {
  return has_run({{"metadata", {{"creationTimestamp", "2026-11-21T08:00:00Z"}}}, {"spec", {{"suspend", true}}}, {"status", Json::parse(status)}});
}

}  // namespace

TEST_CASE("a job that has waited since it was made has not run") {
  for (const auto* status : {
           "{}",
           "null",
           "[1]",
           R"({"active": 0, "failed": 0, "succeeded": "1", "conditions": null})",
           R"({"conditions": [1, {"type": "Suspended", "status": "True", "lastTransitionTime": "2026-11-21T08:00:20Z"}]})",
           R"({"conditions": [{"type": "Suspended", "status": "True"}, {"type": "Created", "status": "True"}]})",
           R"({"conditions": [{"type": "Running", "status": "False", "reason": "Suspended", "lastTransitionTime": "2026-11-21T08:00:01Z"}]})",
           R"({"replicaStatuses": {"Master": {}, "Worker": {"active": 0}, "Launcher": null}})",
       }) {
    CAPTURE(status);
    CHECK_FALSE(has_run_with(status));
  }
}

TEST_CASE("a job that was suspended after it had run shows it") {
  for (const auto* status : {
           R"({"failed": 1})",
           R"({"succeeded": 2})",
           R"({"active": 1})",  // its pods are ending
           R"({"replicaStatuses": {"Master": {}, "Worker": {"failed": 1}}})",
           R"({"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": "2026-11-21T08:20:00Z"}]})",
           R"({"conditions": [{"type": "Suspended", "status": "False", "lastTransitionTime": "2026-11-21T08:00:01Z"}]})",
           R"({"conditions": [{"type": "Running", "status": "False", "lastTransitionTime": "2026-11-21T08:01:00Z"}]})",
           R"({"conditions": [{"type": "Running", "status": "True", "lastTransitionTime": "2026-11-21T08:00:05Z"}]})",
           R"({"conditions": [{"type": "Restarting", "status": "True"}]})",
       }) {
    CAPTURE(status);
    CHECK(has_run_with(status));
  }
}
