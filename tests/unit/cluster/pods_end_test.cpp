// SPDX-License-Identifier: Apache-2.0
#include "cluster/pods_end.h"

#include "support/catch.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

struct Termination {
  Harness h;
  plan::Plan plan = job_types::test::example("Job", 1);
  Json pods = Json::array();
  std::optional<Reply> refusal;
  std::vector<std::string> remains;
  std::optional<std::optional<kube::ApiError>> done;
  std::unique_ptr<PodsEnd> end;

  [[nodiscard]] Json pod(const std::string& owner) const {
    return {{"metadata",
             {{"name", "p-1"},
              {"uid", "p"},
              {"labels", {{"batch.kubernetes.io/job-name", plan.job_name}}},
              {"ownerReferences", Json::array({{{"kind", "Job"}, {"uid", owner}}})}}}};
  }
  void begin() {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      REQUIRE(asked.request.url.path.ends_with("/namespaces/ns/pods"));
      if (refusal) return *refusal;
      return Reply::text(to_text({{"kind", "PodList"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", pods}}));
    });
    const Json job = {{"metadata", {{"name", plan.job_name}, {"namespace", "ns"}, {"uid", "u"}}}};
    end = std::make_unique<PodsEnd>(
        *h.client, Submitted{{"batch/v1", "Job", "jobs"}, job, true}, plan, 30s,
        PodsEnd::Sink{[this](const std::string& pod) { remains.push_back(pod); }, [this](const std::optional<kube::ApiError>& why) { done = why; }});
  }
};

}  // namespace

TEST_CASE_METHOD(Termination, "the pods of a deleted job are waited for, and a slow one is reported once") {
  pods.push_back(pod("u"));
  begin();
  h.loop.run(30s);
  CHECK_FALSE(done);
  CHECK(remains == std::vector<std::string>{"p-1"});
  pods = Json::array();
  h.loop.run(2s);
  REQUIRE(done);
  CHECK_FALSE(*done);
}

TEST_CASE_METHOD(Termination, "another job's pod is not waited for") {
  pods.push_back(pod("another"));
  begin();
  h.loop.run(1s);
  REQUIRE(done);
  CHECK_FALSE(*done);
}

TEST_CASE_METHOD(Termination, "missing permission to see the pods is reported") {
  refusal = kube::test::refusal(403, "Forbidden", "no");
  begin();
  h.loop.run(1s);
  REQUIRE(done);
  REQUIRE(*done);
  CHECK((**done).error.kind == ErrorKind::denied);
}
