// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_only.h"

#include "support/catch.h"

using namespace trainstep;

namespace {

std::string said(const char* options, const std::string& claim = {}) {
  plan::Request request;
  request.job_options = *parse_json(options, "it");
  request.pvc_name = claim;
  return cli::without_effect_here(request).value_or("nothing");
}

}  // namespace

TEST_CASE("inputs that apply only to a cluster are reported, and nothing else") {
  CHECK(said("{}") == "nothing");
  CHECK(
      said(R"({"environment": {"A": 1}, "logs": "all", "limits": {"running": "1h"}, "run_policy": {"stop_grace": 3}, "volumes": [], "queue": ""})") ==
      "nothing");
  CHECK(said(R"({"metrics": [{"name": "loss", "regex": "loss"}]})") == "nothing");
  CHECK(said(R"({"queue": "q"})") == "ignored on this machine (it applies only in a cluster): job_options.queue");
  CHECK(
      said(R"({"volumes": [{}], "limits": {"queued": 5}, "run_policy": {"suspend": true}, "replicas": {"Main": {"image": "x", "environment": {}}}})",
           "data") ==
      "ignored on this machine (they apply only in a cluster): job_options.volumes, job_options.run_policy.suspend, job_options.limits.queued, "
      "job_options.replicas.Main.image, pvc_name");
}
