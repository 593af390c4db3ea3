// Whose success is the job's: what docs/distributed.md says of each kind, and its operator counts.
// SPDX-License-Identifier: Apache-2.0
#include "support/catch.h"
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;

namespace {

// "Master1 Worker0/2": of how many of each type the success is awaited; "*": the primary is among them.
std::string awaited(const plan::Plan& plan) {
  std::string text;
  for (const auto& replicas : find(plan.job_type).replicas(plan))
    text += (text.empty() ? "" : " ") + replicas.type + (replicas.primary ? "*" : "") + std::to_string(replicas.awaited) + "/" +
            std::to_string(replicas.count);
  return text;
}

}  // namespace

TEST_CASE("a job has succeeded when the replicas required by its operator have, and no others are awaited") {
  CHECK(awaited(example("Job", 1)) == "Main*1/1");
  auto indexed = example("Job", 3);
  indexed.distribution.indexed = true;
  CHECK(awaited(indexed) == "Worker*3/3");
  CHECK(awaited(example("PyTorch", 3)) == "Master*1/1 Worker0/2");
  auto elastic = example("PyTorch", 3);
  elastic.distribution.elastic = {1, 4, {}};
  CHECK(awaited(elastic) == "Worker*1/3");
  CHECK(awaited(example("MPI", 3)) == "Launcher*1/1 Worker0/3");
  CHECK(awaited(example("TF", 2)) == "Chief*1/1 Worker0/2 PS0/2");
  auto all_reduce = example("TF", 3);
  all_reduce.distribution.parameter_servers = 0;
  CHECK(awaited(all_reduce) == "Worker*3/3");
  CHECK(rendered(all_reduce)["spec"]["successPolicy"] == "AllWorkers");  // else its operator counts worker-0 alone
}
